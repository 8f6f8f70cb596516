#include "engine/stage.h"

#include <stdio.h>

/* Of all images: more than any test needs but the one that fills it. */
#define SHARE ((uint64_t)512 << 20)

void stage_end(void *user, struct session *session, const char *why)
{
    struct stage *g = user;

    (void)session;
    (void)why;
    g->ends++;
}

void stage_begin(struct stage *g, size_t stock)
{
    static char *preload[] = {"numpy", "ssl", "random", NULL};
    struct error err = {0};

    *g = (struct stage){0};
    scene_begin(&g->scene, (struct pool_options){
                               .size = stock,
                               .environment = {.warm = true, .preload = preload, .n_preload = 3}});
    assert_int_equal(sessions_new(g->scene.loop, g->scene.pool,
                                  &(struct sessions_options){
                                      .max_total = 32, .max_per_owner = 32, .kept_bytes = SHARE},
                                  &g->scene.sessions, &err),
                     0);
}

void stage_finish(struct stage *g)
{
    scene_finish(&g->scene);
}

struct session *stage_open_limited(struct stage *g, uint64_t memory_bytes, bool may_spawn)
{
    struct run *model = scene_prepare(&g->scene, "");
    struct session *session;
    struct error err = {0};

    g->scene.n_tickets--; /* the session's, not the scene's */
    model->terms.may_spawn = may_spawn;
    if (memory_bytes)
        model->terms.limits.memory_bytes = memory_bytes;
    if (scene_open(g->scene.sessions, model,
                   &(struct session_options){.owner = "", .on_end = stage_end, .user = g}, &session,
                   &err) < 0)
        fail_msg("%s", err.message);
    return session;
}

struct session *stage_open(struct stage *g)
{
    return stage_open_limited(g, 0, true);
}

struct scene_ticket *stage_run(struct stage *g, struct session *session, const char *code,
                               enum run_language language)
{
    struct scene_ticket *t;

    (void)scene_prepare(&g->scene, code);
    t = &g->scene.tickets[g->scene.n_tickets - 1];
    t->run->program.language = language;
    session_submit(session, t->run);
    scene_wait(&g->scene, scene_all_done);
    return t;
}

void stage_forget(struct stage *g, struct scene_ticket *t)
{
    run_free(t->run);
    g->scene.n_tickets--;
    memset(t, 0, sizeof(*t));
}

void assert_output(struct stage *g, struct session *session, const char *code,
                   enum run_language language, const char *out)
{
    struct scene_ticket *t = stage_run(g, session, code, language);

    if (strcmp(t->out, out) != 0 || t->run->result.error.code != E_NONE)
        fail_msg("%s: \"%s\" %s", code, t->out,
                 t->run->result.error.message ? t->run->result.error.message : "");
    stage_forget(g, t);
}

void assert_says(struct stage *g, struct session *session, const char *code, const char *out)
{
    assert_output(g, session, code, RUN_PYTHON, out);
}

/* --- copying --- */

void stage_copied(void *user, const struct session_copied *result)
{
    struct stage *g = user;

    g->calls++;
    g->lost = result->lost;
    (void)snprintf(g->why, sizeof(g->why), "%s",
                   result->err->code == E_NONE ? "" : result->err->message);
    for (size_t i = 0; i < result->n_sessions && g->n_copies < STAGE_COPIES_MAX; i++)
        g->copies[g->n_copies++] = result->sessions[i];
}

bool stage_was_called(struct scene *s)
{
    return ((struct stage *)s)->calls > 0; /* it begins with its scene */
}

void stage_wait(struct stage *g, int r, const struct error *err)
{
    if (r < 0)
        fail_msg("%s", err->message);
    scene_wait(&g->scene, stage_was_called);
    g->calls = 0;
}

void stage_checkpoint(struct stage *g, struct session *session, const char *name)
{
    struct error err = {0};

    stage_wait(g, session_checkpoint(session, name, stage_copied, g, &err), &err);
}

void stage_restore(struct stage *g, struct session *session, const char *name)
{
    struct error err = {0};

    stage_wait(g, session_restore(session, name, stage_copied, g, &err), &err);
}

void stage_fork(struct stage *g, struct session *session, size_t n)
{
    struct error err = {0};

    g->n_copies = 0;
    stage_wait(g,
               session_fork(session, n, &(struct session_options){.on_end = stage_end, .user = g},
                            stage_copied, g, &err),
               &err);
}
