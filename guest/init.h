/* Pid 1 of a sandbox: pristine C that waits for its kernel and tells the supervisor how it ended.
 * When it dies, Linux kills everything in the sandbox.
 */
#pragma once

#include <sys/types.h>

/* Never returns. `control` is the only descriptor it has. */
void __attribute__((noreturn)) init_main(int control, pid_t kernel);
