#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/closer.h"
#include "base/config_function.h"
#include "base/limits.h"
#include "base/meminfo.h"
#include "base/net.h"
#include "base/paths.h"
#include "base/resolve.h"
#include "engine/broker_client.h"
#include "engine/masking.h"
#include "engine/memory_guard.h"
#include "wire/message.h"
#include "wire/policy.h"

/* Runs at once; more wait. Each has processes, pipes and a cgroup. */
#define ACTIVE_MAX 256

/* A shorter value would mask words that mean nothing. */
#define SECRET_MIN 8

/* The limits of a run and of a message are two numbers, since neither header may include the
 * other's reasons. */
_Static_assert(LIMIT_GRANTS == WIRE_GRANTS_MAX, "every grant has a place in WIRE_SPAWN");
_Static_assert(LIMIT_COW_GRANTS == WIRE_COW_MAX, "and every layer one in WIRE_SEALED");
_Static_assert(LIMIT_ENV_COUNT <= WIRE_STRINGS_MAX, "every variable has a place in WIRE_RUN");
_Static_assert(LIMIT_VIOLATIONS == POLICY_VIOLATIONS_MAX, "every violation listed is passed on");
_Static_assert(CGROUP_ATTACH_MAX == WIRE_ATTACH_MAX, "every cgroup has a place in WIRE_SPAWN");

int engine_hide(struct engine *engine, const char *value, size_t len, struct error *err)
{
    if (!engine->own.values)
        engine->own.values = masker_values_new();
    if (!engine->own.values)
        return error_memory(err);
    if (masker_values_add(engine->own.values, value, len, err) < 0)
        return -1;
    masks_set(engine->masks, engine->own.rules, engine->own.values);
    return 0;
}

/* The value of a header or a variable, if it may be a secret. */
static const char *secret_of(const char *pair, bool is_header)
{
    static const char *const words[] = {"key", "token", "secret", "password", "auth"};
    const char *value = strpbrk(pair, is_header ? ":" : "=") + 1;
    bool is_secret = is_header;

    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        const char *at = strcasestr(pair, words[i]);

        is_secret = is_secret || (at && at < value);
    }
    if (is_header && *value == ' ')
        value++;
    if (is_header && strncasecmp(value, "bearer ", 7) == 0)
        value += 7;
    return is_secret && strlen(value) >= SECRET_MIN ? value : NULL;
}

static int hide_all(struct engine *engine, char *const *pairs, bool is_header, struct error *err)
{
    for (; pairs && *pairs; pairs++) {
        const char *value = secret_of(*pairs, is_header);

        if (value && engine_hide(engine, value, strlen(value), err) < 0)
            return -1;
    }
    return 0;
}

static int hide_server(struct engine *engine, const struct config_server *server, struct error *err)
{
    for (size_t i = 0; i < server->n_functions; i++)
        if (hide_all(engine, server->functions[i].headers, true, err) < 0)
            return -1;
    if (hide_all(engine, server->env, false, err) < 0)
        return -1;
    return hide_all(engine, server->headers, true, err);
}

/* Other servers, which are started when they are needed. No program gives out what they log in
 * with. */
static int open_servers(struct engine *engine, const struct config *config, struct error *err)
{
    engine->outside.helpers = config->helpers;
    engine->outside.is_forwarded = config->is_inside_machine;
    if (!config->n_servers)
        return 0;
    for (size_t i = 0; i < config->n_servers; i++)
        if (hide_server(engine, &config->servers[i], err) < 0)
            return -1;
    if (upstreams_new(engine->loop, engine->egress.resolver, config->servers, config->n_servers,
                      &engine->outside.upstreams, err) < 0)
        return -1;
    return 0;
}

static const char *find_secret(void *user, const char *name, size_t len)
{
    const struct engine *engine = user;

    return operator_rules_secret(&engine->own, name, len);
}

/* Settings for granted hosts. A missing secret is reported now and not to a program. */
static int open_gate(struct engine *engine, const struct config *config, struct error *err)
{
    cleanup(net_unref_p) struct net *net = net_new();

    engine->egress =
        (struct egress_settings){.resolver = resolver_new(engine->loop, config->resolver, err),
                                 .bytes = (uint64_t)config->net_mb * MIB,
                                 .secret = find_secret,
                                 .user = engine};
    if (!engine->egress.resolver)
        return -1;
    for (size_t i = 0; net && i < config->net.count; i++)
        if (net_add(net, config->net.items[i], err) < 0)
            return -1;
    if (!net)
        return error_memory(err);
    return egress_check(&engine->egress, net, err) < 0
               ? -1
               : packages_read(&engine->outside.packages, config, err);
}

static int open_masking(struct engine *engine, const struct config *config, struct error *err)
{
    if (*config->masking_file && operator_rules_load(&engine->own, config->masking_file, err) < 0)
        return -1;
    engine->masks = masks_new(engine->own.rules, engine->own.values, err);
    return engine->masks ? 0 : -1;
}

static int open_pool(struct engine *engine, const struct config *config,
                     const struct engine_stock *stock, const struct run_limits *limits,
                     struct error *err)
{
    struct environment *environment = &engine->environment;

    if (environment_open(environment, config, NULL, stock->warm, !stock->bare, err) < 0)
        return -1;
    environment->policies = stock->policies;
    if (stock->steady)
        *environment = environment_steady(environment);
    return pool_new(engine->loop,
                    &(struct pool_options){
                        .config = config,
                        .environment = *environment,
                        .masks = engine->masks,
                        .elsewhere = stock->elsewhere,
                        .outside = &engine->outside,
                        .egress = &engine->egress,
                        .size = stock->size,
                        .hot = stock->hot,
                        .zygotes = stock->zygotes,
                        .max_active = ACTIVE_MAX,
                        .zygote_max_runs = (uint64_t)config->zygote_max_runs,
                        .zygote_max_ms = (uint64_t)config->zygote_max_minutes * 60000,
                        .limits = *limits,
                    },
                    &engine->pool, err);
}

static int open_all(struct engine *engine, const struct config *config,
                    const struct engine_stock *stock, const struct run_limits *limits,
                    struct error *err)
{
    engine->loop = loop_new(err);
    if (!engine->loop || open_masking(engine, config, err) < 0 ||
        open_gate(engine, config, err) < 0 || open_pool(engine, config, stock, limits, err) < 0 ||
        cgroup_host_open(&engine->cgroups, err) < 0)
        return -1;
    pool_set_cgroups(engine->pool, engine->cgroups);
    engine->brokers = brokers_new(engine->loop, engine->masks, config, err);
    if (!engine->brokers)
        return -1;
    pool_set_brokers(engine->pool, engine->brokers);
    return open_servers(engine, config, err);
}

int engine_open(struct engine *engine, const struct config *config,
                const struct engine_stock *stock, const struct run_limits *limits,
                struct error *err)
{
    *engine = (struct engine){0};
    if (open_all(engine, config, stock, limits, err) < 0) {
        engine_close(engine);
        return -1;
    }
    return 0;
}

/* Half of what there is: sandboxes need the rest. */
static uint64_t kept_bytes(const struct engine *engine, const struct config *config)
{
    uint64_t most = cgroup_host_memory(engine->cgroups);
    struct meminfo m;

    if (config->session_kept_mb)
        return (uint64_t)config->session_kept_mb * MIB;
    if (meminfo_read(&m) && m.total_bytes < most)
        most = m.total_bytes;
    return most == UINT64_MAX ? 0 : most / 2;
}

struct sessions_options engine_sessions(const struct engine *engine, const struct config *config)
{
    return (struct sessions_options){
        .kept_bytes = kept_bytes(engine, config),
        .max_total = (size_t)config->sessions_max,
        .max_per_owner = (size_t)config->sessions_max,
        .has_names = config_has_names(config),
        .is_inside = config->is_inside_machine,
    };
}

int engine_open_guard(struct engine *engine, struct error *err)
{
    if (closer_start(engine->loop, err) < 0)
        return -1;
    return memory_guard_new(engine->loop, engine->cgroups, engine->pool, &engine->guard, err);
}

int engine_open_trail(struct engine *engine, const struct config *config,
                      const struct recorder_options *options, struct error *err)
{
    struct recorder_options filled = *options;

    filled.config = config;
    filled.loop = engine->loop;
    filled.masks = engine->masks;
    if (recorder_open(&filled, &engine->recorder, err) < 0)
        return -1;
    pool_set_witness(engine->pool, engine->recorder);
    return 0;
}

int engine_open_sessions(struct engine *engine, const struct sessions_options *options,
                         struct error *err)
{
    return sessions_new(engine->loop, engine->pool, options, &engine->sessions, err);
}

void engine_end(struct engine *engine)
{
    memory_guard_free(take_ptr(engine->guard));
    sessions_end(engine->sessions);
    pool_free(take_ptr(engine->pool));
    upstreams_free(take_ptr(engine->outside.upstreams));
    sessions_free(take_ptr(engine->sessions)); /* the last of them went with the pool */
    brokers_free(take_ptr(engine->brokers));
}

int engine_start_server(struct engine *engine, const struct config *config, struct error *err)
{
    if (recorder_server(engine->recorder, "start", config, err) < 0)
        return -1;
    engine->is_server = true;
    return 0;
}

void engine_close(struct engine *engine)
{
    if (engine->is_server)
        (void)recorder_server(engine->recorder, "stop", NULL, NULL);
    /* It may leave a child, which belongs into no cgroup of ours. */
    recorder_settle(engine->recorder, !cgroup_host_has_us(engine->cgroups));
    engine_end(engine);
    closer_stop(); /* it lives in our cgroup */
    cgroup_host_free(engine->cgroups);
    resolver_free(engine->egress.resolver);
    recorder_close(engine->recorder); /* as above */
    loop_free(engine->loop);
    environment_done(&engine->environment);
    masks_free(engine->masks);
    operator_rules_done(&engine->own);
    *engine = (struct engine){0};
}
