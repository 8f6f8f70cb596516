#include "cmd/engine.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/paths.h"
#include "wire/message.h"
#include "wire/policy.h"

#define SYSTEM_PYTHON "/usr/bin/python3"

/* Runs at once; more wait. Each has processes, pipes and a cgroup. */
#define ACTIVE_MAX 256

/* What a run may have and what a message carries are two numbers, since neither header may include
 * the other's reasons. */
_Static_assert(LIMIT_GRANTS == WIRE_GRANTS_MAX, "every grant has a place in WIRE_SPAWN");
_Static_assert(LIMIT_ENV_COUNT <= WIRE_STRINGS_MAX, "every variable has a place in WIRE_RUN");
_Static_assert(LIMIT_VIOLATIONS == POLICY_VIOLATIONS_MAX, "every violation listed is passed on");
_Static_assert(CGROUP_ATTACH_MAX == WIRE_ATTACH_MAX, "every cgroup has a place in WIRE_SPAWN");

/* Places where a sandbox has something of its own, over which nothing can be shown. */
static int check_place(const char *root, struct error *err)
{
    static const char *const own[] = {"/tmp/",  "/var/tmp/", "/dev/",
                                      "/proc/", "/run/",     "/workspace/"};

    for (size_t i = 0; i < ARRAY_SIZE(own); i++)
        if (strncmp(root, own[i], strlen(own[i])) == 0) {
            error_set(err, E_UNSUPPORTED, "an environment below `%s` cannot be shown in a sandbox",
                      own[i]);
            return error_hint(err, "a sandbox has its own there; move `%s` to another place", root);
        }
    return 0;
}

/* A virtual environment is named by its directory or by the interpreter in it. It has to be of the
 * Python we are linked with, and its tree is shown inside. */
static int virtual_environment(const char *path, struct environment *e, struct error *err)
{
    cleanup_free char *root = realpath(path, NULL);
    char probe[PATH_MAX];
    struct stat st;
    char *bin;

    if (!root) {
        error_set(err, E_NOT_FOUND, "environment `%s` does not exist", path);
        return error_hint(err, "name the directory of a virtual environment, or its interpreter");
    }
    /* …/bin/python is a link to the system's interpreter: it is the given path that says where the
     * environment is. */
    (void)snprintf(probe, sizeof(probe), "%s", path);
    if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode) && (bin = strstr(probe, "/bin/"))) {
        *bin = '\0';
        free(root);
        root = realpath(probe, NULL);
    }
    if (!root ||
        (size_t)snprintf(probe, sizeof(probe), "%s/lib/python%s", root, BELLJAR_PYTHON) >=
            sizeof(probe) ||
        stat(probe, &st) < 0) {
        error_set(err, E_UNSUPPORTED, "environment `%s` is not one of Python %s", path,
                  BELLJAR_PYTHON);
        return error_hint(err, "make it with `%s -m venv DIR`", SYSTEM_PYTHON);
    }
    if (check_place(root, err) < 0)
        return -1;
    if (asprintf(&e->python, "%s/bin/python3", root) < 0) {
        e->python = NULL; /* undefined after a failure */
        return error_set(err, E_SYSTEM, "out of memory");
    }
    if (strncmp(root, "/usr/", 5) == 0) /* seen inside as it is */
        return 0;
    e->binds = calloc(1, sizeof(*e->binds));
    if (!e->binds)
        return error_set(err, E_SYSTEM, "out of memory");
    e->binds[e->n_binds++] = take_ptr(root);
    return 0;
}

static void environment_done(struct environment *e)
{
    free(e->python);
    for (size_t i = 0; i < e->n_binds; i++)
        free(e->binds[i]);
    free(e->binds);
}

static int open_environment(const struct config *config, bool warm, struct environment *e,
                            struct error *err)
{
    const struct config_list *preload;
    const char *python;

    if (config_environment(config, &python, &preload, err) < 0)
        return -1;
    e->warm = warm;
    if (warm) { /* borrowed from the settings */
        e->preload = preload->items;
        e->n_preload = preload->count;
    }
    if (python && strcmp(python, SYSTEM_PYTHON) != 0)
        return virtual_environment(python, e, err);
    e->python = strdup(SYSTEM_PYTHON);
    return e->python ? 0 : error_set(err, E_SYSTEM, "out of memory");
}

int engine_open(struct engine *engine, const struct config *config,
                const struct engine_stock *stock, const struct run_limits *limits,
                struct error *err)
{
    cleanup_free char *program = NULL;
    struct pool_options options = {
        .size = stock->size,
        .hot = stock->hot,
        .max_active = ACTIVE_MAX,
        .zygote_max_runs = (uint64_t)config->zygote_max_runs,
        .zygote_max_ms = (uint64_t)config->zygote_max_minutes * 60000,
        .limits = *limits,
    };
    int r = -1;

    *engine = (struct engine){0};
    program = paths_zygote(err);
    engine->loop = program ? loop_new(err) : NULL;
    if (engine->loop && open_environment(config, stock->warm, &options.environment, err) == 0) {
        options.program = program;
        r = pool_new(engine->loop, &options, &engine->pool, err);
    }
    if (r == 0)
        r = cgroup_host_open(&engine->cgroups, err);
    if (r == 0)
        pool_set_cgroups(engine->pool, engine->cgroups);
    if (r < 0) {
        environment_done(&options.environment);
        engine_close(engine);
        return -1;
    }
    engine->environment = options.environment;
    engine->program = take_ptr(program);
    return 0;
}

void engine_close(struct engine *engine)
{
    pool_free(engine->pool);
    cgroup_host_free(engine->cgroups);
    loop_free(engine->loop);
    environment_done(&engine->environment);
    free(engine->program);
    *engine = (struct engine){0};
}

int engine_profile(const struct config *config, struct profile **ret_profile, struct error *err)
{
    cleanup_free char *ours = NULL;

    if (!*config->policies_dir) {
        ours = paths_data("policies", err);
        if (!ours)
            return -1;
    }
    return profile_load(config->profile, ours ? ours : config->policies_dir, ret_profile, err);
}

void engine_limits(const struct config *config, const struct profile *profile,
                   struct run_limits *limits)
{
    config_limits(config, CONFIG_DEFAULT, limits);
    if (profile)
        profile_apply_limits(profile, limits);
    config_limits(config, CONFIG_FILE, limits);
}

int engine_admit(struct run *run, const struct config *config, const struct profile *profile,
                 struct error *err)
{
    if (profile_check_language(profile, run->language, err) < 0)
        return -1;
    if (run->n_grants && !profile_allows_grants(profile)) {
        error_set(err, E_DENIED, "profile `%s` has no files: no directory can be granted with it",
                  profile_name(profile));
        return error_hint(err, "use the profile `standard`");
    }
    engine_limits(config, profile, &run->limits);
    run->profile = profile_name(profile);
    run->policy = profile_encoded(profile);
    run->required_layers = profile_required_layers(profile);
    run->may_spawn = profile_allows_processes(profile);
    return 0;
}
