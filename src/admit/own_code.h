/* Finds the directories from which commands of configured servers and functions take their code.
 *
 * These commands run outside every sandbox. Anyone who can write next to their program, next to a
 * script, in their working directory or in a directory of PATH decides what they run. Every
 * directory that a command names counts, and so does the directory of every file that it names.
 * Behind the package of a package runner (npx, uvx) and of containers, words are data.
 */
#pragma once

#include "base/config.h"
#include "base/error.h"
#include "base/run.h"

/* Protects these directories (sandbox/protected.h): programs read them but do not change them. More
 * calls do no harm. */
int own_code_add(const struct config *config, struct error *err);

/* After own_code_add(): refuses a grant in which nothing could be written, because it lies in such
 * a directory, and one that holds a directory of many purposes (home, /tmp) from which a command
 * runs code. */
int own_code_check(const struct run_grant *grant, struct error *err);
