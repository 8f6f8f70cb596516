#include "base/janitor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Waits for the end of the process behind `pidfd`. Not for the end of a pipe: a child that we
 * forked and that did not execute anything would keep the other end open. */
__attribute__((noreturn)) static void outlive(int pidfd, void (*first)(void *arg),
                                              void (*last)(void *arg), void *arg)
{
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2};
    struct pollfd us = {.fd = 0, .events = POLLIN};

    for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
        (void)signal(ignored[i], SIG_IGN);
    (void)setsid();
    (void)prctl(PR_SET_NAME, "belljar-janitor", 0, 0, 0);
    /* Standard streams too: whoever reads our output waits for the last writer. */
    if (pidfd != 0)
        (void)dup2(pidfd, 0);
    (void)syscall(SYS_close_range, 1U, ~0U, 0U);
    if (chdir("/") < 0)
        _exit(1); /* there is no root: nothing below it can be cleared either */
    if (first)
        first(arg);
    while (poll(&us, 1, -1) < 0 && errno == EINTR)
        ;
    last(arg);
    _exit(0);
}

pid_t janitor_start(void (*first)(void *arg), void (*last)(void *arg), void *arg, struct error *err)
{
    cleanup_close int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0); /* Linux 5.3 */
    long pid;

    if (pidfd < 0)
        return error_errno(err, "start the janitor");
    /* A fork without a signal at its end: nobody's waitpid(-1) finds a child it does not know. */
    pid = syscall(SYS_clone, 0UL, NULL, NULL, NULL, 0UL);
    if (pid < 0)
        return error_errno(err, "start the janitor");
    if (pid == 0)
        outlive(pidfd, first, last, arg);
    return (pid_t)pid;
}

void janitor_stop(pid_t janitor)
{
    if (janitor > 0 && kill(janitor, SIGKILL) == 0)
        while (waitpid(janitor, NULL, __WALL) < 0 && errno == EINTR)
            ;
}
