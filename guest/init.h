/* Pid 1 of a sandbox: reaps, reports how kernels and commands ended, starts and signals them when
 * it is told to, and ends everything when the supervisor lets go. It never runs the program's code
 * and keeps the pristine interpreter mapped, so that a fresh kernel is one fork. A command begins
 * as a kernel: pid 1 reads neither its words nor its variables.
 */
#pragma once

#include <sys/types.h>

#include "wire/message.h"

/* Turns a forked child into a kernel; never returns. */
typedef void (*init_kernel_fn)(const int fds[WIRE_KERNEL_FDS]);

/* Before the first fork: the end of a child will wake us. 0, or -1 and errno. A child that becomes
 * a kernel begins with init_leave(). */
int init_prepare(void);
void init_leave(void);

/* `first`: the kernel that was born with the sandbox. Never returns. */
void __attribute__((noreturn)) init_main(int control, pid_t first, init_kernel_fn become_kernel);
