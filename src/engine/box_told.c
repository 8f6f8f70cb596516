/* Refused system calls that the sandbox's filter reports (sandbox/seccomp_told.h).
 *
 * The caller waits in the kernel until it is answered, so a program that makes such calls in a loop
 * cannot get ahead of us. After the first thousand it is answered in small portions with pauses:
 * what it takes of the supervisor's time then is less than a hundredth of a core.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "engine/box_internal.h"
#include "sandbox/seccomp_told.h"

#define AT_ONCE     16   /* answered in one go */
#define PROMPT      1024 /* of one sandbox, before there are pauses */
#define PAUSE_MS    10
#define TOLD_LAYER  "system call filter"
#define TOLD_ADVICE "no setting allows it; docs/SYSCALLS.md lists the calls with the reasons"

static void on_told(void *arg);

static void note(struct run *run, const struct seccomp_refusal *refusal)
{
    char what[256];

    (void)snprintf(what, sizeof(what), "use the system call `%s`%s%s", refusal->name,
                   *refusal->how ? " " : "", refusal->how);
    (void)run_deny(run, what, TOLD_LAYER, TOLD_ADVICE);
}

static void watch(struct box *b)
{
    b->told_watch = loop_watch_fd(b->loop, b->told_fd, LOOP_READ, on_told, b);
    if (!b->told_watch) /* no memory: Linux answers instead */
        box_told_end(b);
}

static void on_pause_over(void *arg)
{
    struct box *b = arg;

    if (b->told_fd >= 0 && !b->told_watch)
        watch(b);
}

static void pause_for_a_moment(struct box *b)
{
    if (!b->told_timer)
        b->told_timer = loop_timer(b->loop, on_pause_over, b);
    if (!b->told_timer)
        return;
    loop_watch_free(b->told_watch);
    b->told_watch = NULL;
    loop_timer_start(b->told_timer, PAUSE_MS);
}

static void on_told(void *arg)
{
    struct box *b = arg;
    struct seccomp_refusal refusal;
    int r = 0;

    for (int i = 0; i < AT_ONCE && (r = seccomp_refuse_next(b->told_fd, &refusal)) > 0; i++) {
        if (b->told_count < PROMPT)
            b->told_count++;
        if (b->run)
            note(b->run, &refusal);
    }
    if (r < 0)
        box_told_end(b);
    else if (b->told_count == PROMPT)
        pause_for_a_moment(b);
}

void box_told_begin(struct box *b)
{
    b->told_fd = frame_take_fd(&b->init.decoder);
    if (b->told_fd >= 0)
        watch(b);
}

void box_told_end(struct box *b)
{
    loop_watch_free(b->told_watch);
    loop_watch_free(b->told_timer);
    b->told_watch = b->told_timer = NULL;
    close_fd(&b->told_fd);
}
