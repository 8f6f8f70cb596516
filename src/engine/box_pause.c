/* A sandbox in which nothing runs for a while (sandbox/cgroup.h says how). */
#include "engine/box_internal.h"

/* A process that was still running may have woken one that a signal had stopped: they are looked at
 * again, ever more seldom. */
#define LOOK_FIRST_MS 50
#define LOOK_LAST_MS  60000

static int freeze(struct box *b, struct error *err)
{
    bool is_quiet = true;

    if (cgroup_freeze(b->cgroup, box_pid(b), &is_quiet, err) < 0)
        return -1;
    if (!is_quiet)
        b->pause_look_ms = LOOK_FIRST_MS;
    else if (b->pause_look_ms < LOOK_LAST_MS)
        b->pause_look_ms *= 2;
    loop_timer_start(b->pause_timer, b->pause_look_ms);
    return 0;
}

static void on_look(void *arg)
{
    struct box *b = arg;

    if (b->is_paused && b->state == BOX_KEPT)
        (void)freeze(b, NULL);
}

int box_pause(struct box *b, struct error *err)
{
    if (b->is_paused)
        return 0;
    if (b->state != BOX_KEPT)
        return error_set(err, E_BUSY, "the session's sandbox is not at rest");
    if (!b->pause_timer)
        b->pause_timer = loop_timer(b->loop, on_look, b);
    if (!b->pause_timer)
        return error_memory(err);
    b->pause_look_ms = LOOK_FIRST_MS;
    if (freeze(b, err) < 0) {
        loop_timer_stop(b->pause_timer);
        return -1;
    }
    b->is_paused = true;
    b->paused_ns = loop_now_ns();
    box_pause_commands(b);
    return 0;
}

int box_resume(struct box *b, struct error *err)
{
    if (!b->is_paused)
        return 0;
    if (cgroup_thaw(b->cgroup, box_pid(b), err) < 0)
        return -1;
    loop_timer_stop(b->pause_timer);
    b->is_paused = false;
    box_resume_commands(b, loop_now_ns() - b->paused_ns);
    return 0;
}
