/* A scene with sessions that are copied: what the tests of checkpoints and forks have in common. */
#pragma once

#include "unit.h"

#include "engine/scene.h"
#include "engine/session.h"

#define STAGE_COPIES_MAX 16

struct stage {
    struct scene scene;
    struct session *copies[STAGE_COPIES_MAX];
    size_t n_copies;
    char why[1200]; /* "": it worked */
    const char *lost;
    int calls;
    int ends, starts;
};

void stage_end(void *user, struct session *session, const char *why);
void stage_begin(struct stage *g, size_t stock);
void stage_finish(struct stage *g);
struct session *stage_open_limited(struct stage *g, uint64_t memory_bytes, bool may_spawn);
struct session *stage_open(struct stage *g);
struct scene_ticket *stage_run(struct stage *g, struct session *session, const char *code,
                               enum run_language language);
/* A scene has few places. */
void stage_forget(struct stage *g, struct scene_ticket *t);
void assert_output(struct stage *g, struct session *session, const char *code,
                   enum run_language language, const char *out);
void assert_says(struct stage *g, struct session *session, const char *code, const char *out);
void stage_copied(void *user, const struct session_copied *result);
bool stage_was_called(struct scene *s);
void stage_wait(struct stage *g, int r, const struct error *err);
void stage_checkpoint(struct stage *g, struct session *session, const char *name);
void stage_restore(struct stage *g, struct session *session, const char *name);
void stage_fork(struct stage *g, struct session *session, size_t n);
