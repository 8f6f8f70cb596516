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

/* `size` and `hot` as in struct pool_options; with a stock of none nothing is imported in advance. */
int engine_open(struct engine *engine, const struct config *config, size_t size, size_t hot,
                const struct run_limits *limits, struct error *err);
void engine_close(struct engine *engine);

/* The profile of the settings, from the operator's or our own directory. */
int engine_profile(const struct config *config, struct profile **ret_profile, struct error *err);

/* Puts what the profile says into the run: rules, layers it insists on, limits below those of flags. */
int engine_admit(struct run *run, const struct config *config, const struct profile *profile,
                 struct error *err);
