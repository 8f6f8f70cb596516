/* The Bash kernel: becomes bash. */
#pragma once

#include "wire/message.h"

/* Replaces the process by a shell that runs the program. Returns only on failure, with an exit
 * code. */
int bash_run(const struct wire_run *run, int control);

/* Replaces the process by a shell that takes one cell after the other (WIRE_BASH_CELL) from `cells`
 * and reports on descriptor 62. Returns only on failure, with an exit code. */
int bash_session(int cells, int report, int replies);
