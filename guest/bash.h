/* The Bash kernel: becomes bash. */
#pragma once

#include "wire/message.h"

/* Replaces the process by a shell that runs the program. Returns only on failure, with an exit
 * code. */
int bash_run(const struct wire_run *run, int control);
