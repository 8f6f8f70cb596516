/* Before a cell of a session with copy-on-write directories: its overlays forget the names they
 * remember, so that the cell sees what somebody has replaced, deleted or made on the disk since.
 *
 * A child does it, which moves into the sandbox's namespaces for that, and for nothing else. The
 * cell waits for its end. When it fails, the cell sees what it would have seen without; what
 * changed on the disk is a conflict in any case when changes are applied (sandbox/overlay.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/cleanup.h"
#include "engine/box_internal.h"

/* An overlay with very many names in memory takes a while; longer than this nobody waits. */
#define PATIENCE_S 10

static void __attribute__((noreturn)) refresh(const struct box *b, pid_t server)
{
    struct error err = {0};

    child_reset_signals();
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != server)
        _exit(1);
    (void)alarm(PATIENCE_S);
    _exit(overlays_refresh(b->cow, b->pidfd, &err) < 0 ? 1 : 0);
}

void box_refresh_end(struct box *b)
{
    if (!b->refresh_watch)
        return;
    loop_watch_free(b->refresh_watch);
    b->refresh_watch = NULL;
    close_fd(&b->refresh_fd);
    (void)kill(b->refresh_pid, SIGKILL);
    while (waitpid(b->refresh_pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* Its end of the pipe is closed: it has ended, or is about to. */
static void on_over(void *arg)
{
    struct box *b = arg;

    box_refresh_end(b);
    box_session_on_refreshed(b);
}

bool box_is_refreshing(const struct box *b)
{
    return b->refresh_watch;
}

void box_refresh_begin(struct box *b)
{
    pid_t server = getpid(), pid;
    sigset_t all, before;
    int pair[2];

    if (!b->cow || !b->has_run_code || b->pidfd < 0 || b->refresh_watch ||
        pipe2(pair, O_CLOEXEC) < 0)
        return;
    b->refresh_watch = loop_watch_fd(b->loop, pair[0], LOOP_READ, on_over, b);
    b->refresh_fd = pair[0];
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &before);
    pid = b->refresh_watch ? fork() : -1;
    if (pid == 0)
        refresh(b, server);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    (void)close(pair[1]);
    b->refresh_pid = pid;
    if (pid > 0)
        return;
    loop_watch_free(b->refresh_watch);
    b->refresh_watch = NULL;
    close_fd(&b->refresh_fd);
}
