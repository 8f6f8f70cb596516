/* The engine as every door uses it: loop, cgroups and pool, opened from the settings. */
#pragma once

#include "base/config.h"
#include "base/loop.h"
#include "calls/outside.h"
#include "egress/egress.h"
#include "engine/environment.h"
#include "engine/pool.h"
#include "engine/recorder.h"
#include "engine/session.h"
#include "mask/operator_rules.h"
#include "sandbox/cgroup.h"

struct engine {
    struct loop *loop;
    struct cgroup_host *cgroups;
    struct pool *pool;
    struct brokers *brokers;        /* of directories granted for writing */
    struct recorder *recorder;      /* NULL: nothing is written down */
    struct sessions *sessions;      /* NULL: none were asked for */
    struct environment environment; /* the pool uses these for every new zygote */
    struct egress_settings egress;  /* how programs reach granted hosts */
    struct outside outside;         /* what their calls reach */
    struct masks *masks;            /* what is masked in texts of programs (engine/masking.h) */
    struct operator_rules own;      /* what the operator has masked beyond the usual */
    struct memory_guard *guard;     /* NULL: nobody looks at memory */
    bool is_server;                 /* its start is recorded, and its stop is due */
};

/* The stock to keep ready. */
struct engine_stock {
    size_t size; /* sandboxes, as in struct pool_options */
    size_t hot;
    size_t zygotes;
    bool warm;   /* import the environment's modules in advance and prepare for many forks */
    bool bare;   /* warm, but without those modules: up at once, and its sessions can be copied */
    bool steady; /* only runs with a seed will come */
    struct wire_policies policies;     /* that most runs will have; they outlive the engine */
    const struct elsewhere *elsewhere; /* as in struct pool_options */
};

int engine_open(struct engine *engine, const struct config *config,
                const struct engine_stock *stock, const struct run_limits *limits,
                struct error *err);

/* Has memory looked at (engine/memory_guard.h), and freed by a helper process (base/closer.h): for
 * those who serve several. */
int engine_open_guard(struct engine *engine, struct error *err);

/* The settings of sessions. */
struct sessions_options engine_sessions(const struct engine *engine, const struct config *config);

/* For doors through which programs come: from here on everything is written down
 * (engine/recorder.h), unless the settings say otherwise. Settings and loop of the options are
 * filled in. */
int engine_open_trail(struct engine *engine, const struct config *config,
                      const struct recorder_options *options, struct error *err);

/* Records that a server starts with these settings; engine_close() records its stop. */
int engine_start_server(struct engine *engine, const struct config *config, struct error *err);

/* One more value that no program gives out, beside the operator's own: before anything runs. */
int engine_hide(struct engine *engine, const char *value, size_t len, struct error *err);

/* For doors that have sessions. */
int engine_open_sessions(struct engine *engine, const struct sessions_options *options,
                         struct error *err);

/* Ends every sandbox, sessions included. Texts can still be masked. */
void engine_end(struct engine *engine);

/* Stops the engine, and frees the rest. */
void engine_close(struct engine *engine);
