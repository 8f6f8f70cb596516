/* Whether a program is likely to import one of the modules that warm interpreters have imported in
 * advance. It is a guess from the words of the text: a wrong one costs time, never the result. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/run_program.h"

/* `modules`: the names of those, `numpy` or `scipy.stats`. True also for programs that import
 * anything but the standard library, since that may import them in turn. */
bool program_needs(const struct run_program *program, char *const *modules, size_t n_modules);
