/* A real pool with a real zygote (BELLJAR_ZYGOTE names the program), a loop to drive it, and the
 * runs that were given to it. */
#pragma once

#include "unit.h"

#include <stdbool.h>

#include "calls/outside.h"
#include "egress/egress.h"
#include "engine/masking.h"
#include "engine/pool.h"
#include "engine/session.h"
#include "wire/pack.h"

#define SCENE_RUNS_MAX 32

struct scene_ticket {
    struct run *run;
    int done;      /* calls of on_done */
    char out[512]; /* all that was printed, also by runs that were lost */
    size_t out_len;
};

struct scene {
    struct loop *loop;
    struct cgroup_host *cgroups;
    struct masks *masks;
    struct outside outside;
    struct egress_settings egress;
    struct pool *pool;
    struct sessions *sessions; /* the test's, freed with the scene; NULL: none */
    struct pack policy;
    struct scene_ticket tickets[SCENE_RUNS_MAX];
    size_t n_tickets;
    bool (*until)(struct scene *s);
    struct loop_watch *poll, *hang;
    bool is_hung;
    size_t descriptors;
    char cgroup[512];
};

/* Python is /usr/bin/python3; what the options leave open is as in the program. The rules of a run
 * allow everything. */
void scene_begin(struct scene *s, struct pool_options options);

/* Opens a session on the terms of that run, which is freed. */
int scene_open(struct sessions *table, struct run *model, const struct session_options *options,
               struct session **ret_session, struct error *err);

/* Ends it and looks for what is left: processes, descriptors, cgroups, runs without an answer. */
void scene_finish(struct scene *s);

/* A test with a scene of its own; the rest are options of its pool. */
#define IN_SCENE(name, ...)                                                                        \
    static void name##_in(struct scene *s);                                                        \
    TEST(name)                                                                                     \
    {                                                                                              \
        struct scene s;                                                                            \
                                                                                                   \
        scene_begin(&s, (struct pool_options){__VA_ARGS__});                                       \
        name##_in(&s);                                                                             \
        scene_finish(&s);                                                                          \
    }                                                                                              \
    static void name##_in(__attribute__((unused)) struct scene *s)

/* A run that is the scene's; `tickets` has them in order. */
struct run *scene_prepare(struct scene *s, const char *code);
struct run *scene_submit(struct scene *s, const char *code);

/* Lets the loop run until it holds. Fails the test when it never does. */
void scene_wait(struct scene *s, bool (*until)(struct scene *s));
bool scene_stock_is_full(struct scene *s);
bool scene_zygote_is_ready(struct scene *s);
bool scene_all_done(struct scene *s);

struct pool_level scene_level(const struct scene *s);
void scene_assert_ran(const struct scene_ticket *t, const char *out);
