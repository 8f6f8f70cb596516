/* The engine as the commands use it: loop, cgroups, pool and profile, opened from the settings. */
#pragma once

#include "base/config.h"
#include "base/loop.h"
#include "gate/profile.h"
#include "pool/pool.h"
#include "sandbox/cgroup.h"

struct engine {
    struct loop *loop;
    struct cgroup_host *cgroups;
    struct pool *pool;
    struct environment environment; /* the pool uses these for every new zygote */
    char *program;
};

/* What to keep ready. */
struct engine_stock {
    size_t size; /* sandboxes, as in struct pool_options */
    size_t hot;
    bool warm; /* import the environment's modules in advance and prepare for many forks */
};

int engine_open(struct engine *engine, const struct config *config,
                const struct engine_stock *stock, const struct run_limits *limits,
                struct error *err);
void engine_close(struct engine *engine);

/* The profile of the settings, from the operator's or our own directory. */
int engine_profile(const struct config *config, struct profile **ret_profile, struct error *err);

/* What a run may use: the defaults, over them the profile's (it may be NULL), over them files, the
 * environment and flags. A stock has to be made with the limits its runs will have. */
void engine_limits(const struct config *config, const struct profile *profile,
                   struct run_limits *limits);

/* Puts what the profile says into the run: rules, layers it insists on, and engine_limits(). */
int engine_admit(struct run *run, const struct config *config, const struct profile *profile,
                 struct error *err);
