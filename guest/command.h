/* A command of the host's system: becomes it. */
#pragma once

#include "wire/message.h"

/* Replaces the process by the command whose words are the code of the run. Returns only on failure,
 * with the exit code of shells: 127 where it is not found, 126 where it cannot be executed. */
int command_run(const struct wire_run *run, int control);
