#include "zygote/holder.h"

#include <sched.h>
#include <signal.h>
#include <unistd.h>

static char stack[8192] __attribute__((aligned(16)));

/* Shares everything with the interpreter, its thread block included, so it must not touch any of it: no call here fails, and
 * only a failure would write errno. */
static int __attribute__((noreturn)) hold(void *unused)
{
    (void)unused;
    (void)close_range(0, ~0U, 0);
    for (;;)
        (void)pause();
}

pid_t holder_start(void)
{
    sigset_t all, before;
    pid_t pid;

    (void)sigfillset(&all);
    if (sigprocmask(SIG_SETMASK, &all, &before) < 0)
        return -1;
    pid = clone(hold, stack + sizeof(stack), CLONE_VM | CLONE_PARENT | SIGCHLD, NULL);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return pid;
}
