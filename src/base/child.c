#include "base/child.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>

/* For what runs in child_vfork(): a few calls with small buffers. */
#define VFORK_STACK 32768

pid_t child_vfork(uint64_t flags, int (*fn)(void *arg), void *arg)
{
    char stack[VFORK_STACK] __attribute__((aligned(16)));
    sigset_t all, before;
    int saved;
    pid_t pid;

    /* A handler of ours would run in the child, too, on our memory. */
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &before);
    pid = clone(fn, stack + sizeof(stack), (int)flags | CLONE_VM | CLONE_VFORK | SIGCHLD, arg);
    saved = errno;
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    errno = saved;
    return pid;
}

void child_reset_signals(void)
{
    sigset_t none;

    for (int sig = 1; sig < NSIG; sig++)
        (void)signal(sig, SIG_DFL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}
