/* A program as a file: `__file__` in /workspace, and the file itself for a program that needs it.
 *
 * A program that came as text has no file. One that speaks of `__file__`, or has processes started
 * that import it anew, gets one for as long as it runs.
 */
#pragma once

#include <stdbool.h>

#include "base/span.h"

/* Before the program runs. 0 or -1. */
int program_file_set(struct span code);

/* The program speaks of modules that show lines of it. */
bool program_file_is_read(struct span code);

void program_file_remove(void);
