/* Refused system calls that the sandbox's filter reports (sandbox/seccomp_refusal.h).
 *
 * The caller waits in the kernel until it is answered, so a program that makes such calls in a loop
 * cannot get ahead of us. After the first thousand it is answered in small portions with pauses:
 * what it takes of the supervisor's time then is less than a hundredth of a core.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "engine/box_internal.h"
#include "sandbox/seccomp_refusal.h"

#define AT_ONCE        16   /* answered in one go */
#define PROMPT         1024 /* of one sandbox, before there are pauses */
#define PAUSE_MS       10
#define REFUSED_ADVICE "no setting allows it; docs/SYSCALLS.md lists the calls with the reasons"

static void on_refusal(void *arg);

static void note(struct run *run, const struct seccomp_refusal *refusal)
{
    char what[256];

    (void)snprintf(what, sizeof(what), "use the system call `%s`%s%s", refusal->name,
                   *refusal->how ? " " : "", refusal->how);
    (void)run_deny(run, what, RUN_LAYER_FILTER, REFUSED_ADVICE);
}

static void watch(struct box *b)
{
    b->refusals_watch = loop_watch_fd(b->loop, b->refusals_fd, LOOP_READ, on_refusal, b);
    if (!b->refusals_watch) /* no memory: Linux answers instead */
        box_refused_calls_end(b);
}

static void on_pause_over(void *arg)
{
    struct box *b = arg;

    if (b->refusals_fd >= 0 && !b->refusals_watch)
        watch(b);
}

static void pause_for_a_moment(struct box *b)
{
    if (!b->refusals_timer)
        b->refusals_timer = loop_timer(b->loop, on_pause_over, b);
    if (!b->refusals_timer)
        return;
    loop_watch_free(b->refusals_watch);
    b->refusals_watch = NULL;
    loop_timer_start(b->refusals_timer, PAUSE_MS);
}

static void on_refusal(void *arg)
{
    struct box *b = arg;
    struct seccomp_refusal refusal;
    int r = 0;

    for (int i = 0; i < AT_ONCE && (r = seccomp_refuse_next(b->refusals_fd, &refusal)) > 0; i++) {
        if (b->n_refusals < PROMPT)
            b->n_refusals++;
        if (b->run)
            note(b->run, &refusal);
    }
    if (r < 0)
        box_refused_calls_end(b);
    else if (b->n_refusals == PROMPT)
        pause_for_a_moment(b);
}

void box_refused_calls_begin(struct box *b)
{
    b->refusals_fd = frame_take_fd(&b->init.decoder);
    if (b->refusals_fd >= 0)
        watch(b);
}

void box_refused_calls_end(struct box *b)
{
    loop_watch_free(b->refusals_watch);
    loop_watch_free(b->refusals_timer);
    b->refusals_watch = b->refusals_timer = NULL;
    close_fd(&b->refusals_fd);
}
