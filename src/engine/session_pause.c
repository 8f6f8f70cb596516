/* Pauses: a session that keeps everything and runs nothing (engine/box_pause.c). */
#include "engine/session_internal.h"

int session_check_awake(const struct session *s, struct error *err)
{
    if (!s->is_paused)
        return 0;
    error_set(err, E_INVALID, "the session is paused");
    return error_hint(err, "resume it first: POST /v1/sessions/%s/resume", s->name);
}

static int check_rest(const struct session *s, struct error *err)
{
    if (s->is_closing)
        return error_set(err, E_NOT_FOUND, "the session has ended");
    if (session_check_here(s, "pauses of sessions", err) < 0)
        return -1;
    if (session_is_starting(s))
        return error_set(err, E_BUSY, "the session is starting");
    if (s->copy)
        return error_set(err, E_BUSY, "the session is being copied");
    if (s->current || s->n_queued) {
        error_set(err, E_BUSY, "a cell is running");
        return error_hint(err, "wait for its end, or interrupt it; sessions pause between cells");
    }
    return 0;
}

/* Recorded before it is so: what cannot be written down does not happen. */
int session_pause(struct session *s, struct error *err)
{
    if (s->is_paused)
        return 0;
    if (check_rest(s, err) < 0 || session_tell(s, "pause", NULL, NULL, NULL, err) < 0 ||
        box_pause(s->box, err) < 0)
        return -1;
    s->is_paused = true;
    s->is_used = true;
    loop_timer_stop(s->idle);
    session_announce(s, "paused", NULL);
    return 0;
}

int session_resume(struct session *s, struct error *err)
{
    if (!s->is_paused)
        return 0;
    if (session_tell(s, "resume", NULL, NULL, NULL, err) < 0 || box_resume(s->box, err) < 0)
        return -1;
    s->is_paused = false;
    session_announce(s, "resumed", NULL);
    session_go_on(s);
    return 0;
}
