/* A kernel: a forked copy of the warm interpreter that waits for one program. Until the program's
 * first instruction this is our code; what depends on the request is applied here, before a byte of
 * it is parsed.
 */
#pragma once

#include "wire/message.h"

/* Numbers of the socket the code comes on, which is gone when it runs, and of the pipe for what the
 * kernel says: out of the way of programs, within a small descriptor table. */
#define KERNEL_CONTROL_FD 63
#define KERNEL_REPORT_FD  62

/* In sessions: cells come on the number of the socket, which is gone by then; copies of standard
 * output and error are kept for programs that close theirs. */
#define KERNEL_KEPT_OUT_FD 61
#define KERNEL_KEPT_ERR_FD 60

/* Of the pipe for what programs ask for (guest/call.h); below the one that guest/image/image.h has.
 */
#define KERNEL_REPLY_FD 58

/* In the order of WIRE_KERNEL. */
struct kernel_fds {
    int control;
    int report;
    int out;
    int err;
    int replies;
};

enum {
    KERNEL_TOUCH = 1 << 0, /* touch the memory a program needs before saying WIRE_WAITING */

    /* Start a holder (guest/memory_holder.h). Only for the first kernel of a sandbox, whose end may
     * be the end of the sandbox. The holder of any other kernel would outlive it, and a session
     * with a process it does not know cannot be copied. */
    KERNEL_HOLD = 1 << 1,
};

/* In the forked child; never returns. */
void __attribute__((noreturn)) kernel_main(const struct kernel_fds *fds, unsigned how);

/* Before the first fork: the kernels will carry a data stack, whose memory takes long to take
 * apart. Each first one gets a holder; without this, only those that are touched do. */
void kernel_expect_stack(void);

/* Checks, compiles and runs a trivial program, to learn which memory every program writes before
 * its first line. The interpreter cannot be used afterwards. */
void kernel_rehearse(void);
