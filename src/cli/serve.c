/* belljar serve: the engine behind HTTP.
 *
 * One process, one loop. The order in which things are opened is the order in which a mistake is
 * cheap: settings, tokens and sockets first, then the warm interpreter; requests are taken at once
 * and wait for it. Told to stop, the server takes no new work, lets running programs finish for a
 * while, interrupts what is left, and frees everything; told twice, it goes at once, and the kernel
 * of Linux cleans up behind it.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "admit/admit.h"
#include "admit/grants.h"
#include "admit/quota.h"
#include "admit/request.h"
#include "admit/spent.h"
#include "admit/workdir.h"
#include "api/api.h"
#include "api/durable.h"
#include "api/events.h"
#include "api/openapi.h"
#include "base/cleanup.h"
#include "base/date.h"
#include "base/id.h"
#include "base/log.h"
#include "base/paths.h"
#include "base/service.h"
#include "calls/approval.h"
#include "cli/backend.h"
#include "cli/cmd.h"
#include "cli/flags.h"
#include "cli/serve_announce.h"
#include "cli/serve_sockets.h"
#include "compat/coderunner.h"
#include "compat/e2b.h"
#include "compat/jupyter.h"
#include "egress/egress.h"
#include "engine/engine.h"
#include "http/server.h"
#include "http/tls.h"
#include "mcp/http.h"
#include "mcp/tools.h"
#include "serve/console.h"
#include "serve/routes.h"
#include "store/replica.h"
#include "vm/exchange.h"
#include "vm/inside_proof.h"

/* From the interrupt of what still runs to giving it up. */
#define INTERRUPT_MS 5000

/* Bodies of all requests together, while they are being read. */
#define BODIES_BYTES ((uint64_t)256 * MIB)

/* Runs at once where the settings do not say. */
#define RUNS_PER_CORE 16

/* Answers that wait for readers who take their time. */
#define ANSWERS_BYTES (256 * MIB)

/* Programs with their input and files, from the request to their end. */
#define PENDING_BYTES (256 * MIB)

/* Answers kept for repeated requests. */
#define KEPT_ANSWERS 100
#define KEPT_KEYED   1000 /* asked for under a key: a whole batch */
#define KEPT_BYTES   (64 * MIB)
#define KEPT_MS      ((uint64_t)60 * 60 * 1000)

/* Clients that speak MCP and have a session with us, of all owners together; and after how long one
 * that is not heard of is given up where sessions have no such clock. */
#define MCP_SESSIONS 1024
#define MCP_IDLE_MS  ((uint64_t)24 * 60 * 60 * 1000)

/* For the names of all options. */
#define NAMES_BYTES (4 * KIB)

struct serve {
    struct backend back;
    const char *config_path; /* of --config, or NULL */
    bool needs_no_token;
    struct auth *auth;
    char *token_path;
    char first_token[TOKEN_LEN + 1]; /* until the engine hides it */
    struct coderunner *coderunner;
    struct e2b *e2b;
    struct jupyter *jupyter;
    struct idempotency *idempotency;
    struct exchanges *exchanges; /* NULL: programs run here, in no virtual machine */
    struct events *events;
    struct durable *durable;
    struct replicas *replicas; /* NULL: nothing is shared with other machines */
    struct mcp_host mcp;
    struct router router;
    struct openapi openapi;
    struct buf tls_cert, tls_key; /* PEM, for the listener; empty: no TLS */
    bool is_tls;
    struct http_server *http;
    struct serve_sockets sockets;
    struct loop_watch *grace;
    int n_signals;
    bool is_http_idle, are_jobs_idle; /* while it stops */
    bool is_started;                  /* the log says so */
};

enum { OPT_HELP = 'h', OPT_CONFIG = 256, OPT_NO_AUTH, OPT_INSIDE };

static const struct option own_options[] = {
    {"help", no_argument, NULL, OPT_HELP},
    {"config", required_argument, NULL, OPT_CONFIG},
    {"no-auth", no_argument, NULL, OPT_NO_AUTH},
    {"inside-machine", no_argument, NULL, OPT_INSIDE},
};

static int help(void)
{
    (void)printf(
        "usage: belljar serve [OPTION]…\n"
        "Serve requests over HTTP from a pool of warm sandboxes.\nDefaults are in parentheses.\n\n"
        "  --no-auth             accept requests without a token, on loopback only\n"
        "  --config FILE         read this file instead of the usual ones\n");
    if (cmd_help_is_whole)
        (void)printf("  --inside-machine      used by `--machine` to start the server inside\n");
    flags_print("serve");
    (void)printf(
        "\nThe profile and limits are the defaults of requests that do not set their own.\n"
        "example: belljar serve --listen 127.0.0.1:8222\n");
    return 0;
}

/* Returns 0, or the exit code + 1 when there is nothing more to do. */
static int parse(struct serve *serve, const char **ret_config, int argc, char **argv)
{
    const struct cmd_place places[] = {
        {OPT_CONFIG, .word = ret_config},
        {OPT_NO_AUTH, .flag = &serve->needs_no_token},
        {OPT_INSIDE, .flag = &serve->back.config->is_inside_machine},
    };

    return flags_read(
        &(struct flags){own_options, ARRAY_SIZE(own_options), places, ARRAY_SIZE(places), help},
        serve->back.config, argc, argv);
}

/* --- opening --- */

static void on_note(void *user, const char *text)
{
    if (log_has(LOG_ERROR))
        LOG_EVENT(LOG_ERROR, "trail", {"message", text});
    else
        cmd_note(user, text);
}

/* Everything that a removed token has opened ends with it: its name may be given to somebody
 * else. */
static void on_removed(void *user, struct caller *caller)
{
    struct serve *serve = user;

    if (serve->durable)
        durable_forget(serve->durable, caller);
    if (serve->replicas)
        replicas_drop(serve->replicas, caller->keeper);
    if (serve->back.jobs)
        jobs_forget(serve->back.jobs, caller->name);
    if (serve->idempotency)
        idempotency_forget(serve->idempotency, caller->name);
    if (serve->back.api.mcp)
        mcp_http_forget(serve->back.api.mcp, caller->name);
    if (serve->back.engine.sessions)
        sessions_close(serve->back.engine.sessions, caller->name, "its owner's token was removed");
    if (serve->back.api.events)
        events_end_unknown(serve->back.api.events);
}

/* A program of an open session goes on between cells, so a lost right ends the session. */
static void on_changed(void *user, struct caller *caller)
{
    struct serve *serve = user;
    struct session *next;

    if (serve->back.jobs)
        jobs_recheck(serve->back.jobs, caller);
    for (struct session *s =
             serve->back.engine.sessions ? sessions_next(serve->back.engine.sessions, NULL) : NULL;
         s; s = next) {
        struct session_info info;

        next = sessions_next(serve->back.engine.sessions, s);
        session_info(s, &info);
        if (strcmp(info.owner, caller->name) == 0 && admission_check_session(caller, s, NULL) < 0)
            session_close(s, "its owner's token has lost a right that it uses");
    }
}

static void log_error(const char *event, struct error *err)
{
    LOG_EVENT(LOG_ERROR, event, {"message", error_message(err)},
              {"hint", err->hint, .is_left_out = !err->hint});
    error_done(err);
}

static void on_trouble(void *user, const struct error *err)
{
    (void)user;
    if (err->code == E_NONE)
        LOG_EVENT(LOG_INFO, "tokens", {"message", "the token file can be read again"});
    else
        LOG_EVENT(LOG_ERROR, "tokens", {"message", error_message(err)});
}

static void on_first(void *user, const char *token, size_t len)
{
    struct serve *serve = user;

    memcpy(serve->first_token, token, len < TOKEN_LEN ? len : TOKEN_LEN);
}

/* A program that finds our token cannot print it. */
static int hide_token(struct serve *serve, struct error *err)
{
    int r = 0;

    if (*serve->first_token)
        r = engine_hide(&serve->back.engine, serve->first_token, strlen(serve->first_token), err);
    return r;
}

static int open_auth(struct serve *serve, struct error *err)
{
    const struct config *config = serve->back.config;
    cleanup_free char *tokens = NULL;
    struct auth_options options = {.trail_bytes_per_hour =
                                       (double)config->trail_mb_per_hour * (double)MIB,
                                   .on_removed = on_removed,
                                   .on_changed = on_changed,
                                   .on_trouble = on_trouble,
                                   .on_first = on_first,
                                   .user = serve};

    if (serve->needs_no_token || strcmp(config->auth, "none") == 0)
        return auth_open(&options, &serve->auth, err);
    serve->token_path =
        *config->token_file ? strdup(config->token_file) : paths_state("token", err);
    tokens = *config->tokens_file ? strdup(config->tokens_file) : paths_state("tokens.toml", err);
    if (!serve->token_path || !tokens)
        return err->code == E_NONE ? error_memory(err) : -1;
    options.token_path = serve->token_path;
    options.tokens_path = tokens;
    return auth_open(&options, &serve->auth, err);
}

/* Each connection and each sandbox needs descriptors: as many as we may have. */
static void raise_descriptors(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* Bytes written to the trail on behalf of a token. */
static void on_written(void *user, const char *owner, size_t bytes)
{
    const struct serve *serve = user;
    struct caller *c = owner ? auth_next(serve->auth, NULL) : NULL;

    for (; c; c = auth_next(serve->auth, c))
        if (strcmp(c->name, owner) == 0)
            quota_spend_trail(c, loop_now_ns(), (double)bytes);
}

static void on_session_event(void *user, const struct session_event *event)
{
    const struct serve *serve = user;

    events_tell_session(serve->events, event);
}

static void on_approval_change(void *user, const struct approval_change *change)
{
    const struct serve *serve = user;

    events_tell_approval(serve->events, change);
}

/* Everything below tells it what happens. */
static int open_events(struct serve *serve, struct error *err)
{
    struct approvals *approvals = pool_approvals(serve->back.engine.pool);

    approvals->on_change = on_approval_change;
    approvals->user = serve;
    return events_new(serve->back.engine.loop, &serve->events, err);
}

/* Whether there is more than one token, so that shares matter. */
static bool has_others(void *user)
{
    struct serve *serve = user;

    return route_has_others(&serve->router);
}

static int open_engine(struct serve *serve, struct error *err)
{
    const struct config *config = serve->back.config;
    struct engine_stock stock = {
        .size = config->pool_size < 0 ? POOL_AUTO : (size_t)config->pool_size,
        .hot = config->pool_hot < 0 ? POOL_AUTO : (size_t)config->pool_hot,
        .zygotes = config->zygote_count ? (size_t)config->zygote_count : POOL_AUTO,
        .warm = true,
    };
    const struct recorder_options recorder = {
        .has_doors = true,
        .on_note = on_note,
        .on_written = on_written,
        .has_others = has_others,
        .user = serve,
    };
    struct sessions_options sessions;

    raise_descriptors();
    if (config->is_inside_machine && inside_begin(config, err) < 0)
        return -1;
    if (strcmp(config->machine, "no") != 0) {
        serve->exchanges = exchanges_new();
        if (!serve->exchanges)
            return error_memory(err);
        stock.elsewhere = exchanges_elsewhere(serve->exchanges);
        stock.size = stock.hot = 0;
    }
    if (backend_open_engine(&serve->back, &stock, err) < 0 ||
        (serve->exchanges &&
         exchanges_open(serve->exchanges, &serve->back.engine, config, err) < 0) ||
        hide_token(serve, err) < 0 || open_events(serve, err) < 0)
        return -1;
    sessions = engine_sessions(&serve->back.engine, config);
    sessions.has_others = has_others;
    sessions.on_event = on_session_event;
    sessions.user = serve;
    return backend_open_sessions(&serve->back, &recorder, &sessions, err);
}

/* A program that waits costs nothing, one that runs a share of the cores and its memory. */
static size_t runs_at_once(const struct config *config)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    if (config->runs_max >= 0)
        return config->runs_max ? (size_t)config->runs_max : 1;
    return RUNS_PER_CORE * (size_t)(cores > 0 ? cores : 1);
}

/* Clients that forget to say goodbye are given up like sessions are. */
static int open_mcp(struct serve *serve, struct error *err)
{
    const struct config *config = serve->back.config;
    struct mcp_http_options options = {
        .loop = serve->back.engine.loop,
        .max_sessions = MCP_SESSIONS,
        .idle_ms =
            config->session_idle_s > 0 ? (uint64_t)(config->session_idle_s * 1000) : MCP_IDLE_MS,
    };

    if (config->authorization_servers.count && !*config->mcp_resource)
        return error_set(err, E_INVALID, "`authorization_servers` needs `mcp_resource`");
    serve->mcp = (struct mcp_host){.api = &serve->back.api};
    if (mcp_host_open(&serve->mcp, config->mcp_compat, err) < 0)
        return -1;
    options.server = serve->mcp.server;
    return mcp_http_new(&options, &serve->back.api.mcp, err);
}

/* Runs: the queue in front of them, and what is kept of them. */
static int open_jobs(struct serve *serve, struct error *err)
{
    const struct queue_options queue = {
        .max_running = runs_at_once(serve->back.config),
        .max_waiting = (size_t)serve->back.config->queue_max,
        .wait_ms = (uint64_t)(serve->back.config->queue_timeout_s * 1000),
        .reserved = runs_at_once(serve->back.config) / 4,
    };
    struct jobs_options jobs = {
        .events = serve->events,
        .max_kept = KEPT_ANSWERS,
        .max_keyed = KEPT_KEYED,
        .max_bytes = KEPT_BYTES,
        .max_age_ms = KEPT_MS,
        .max_pending = PENDING_BYTES,
    };

    if (idempotency_new(&serve->idempotency, err) < 0)
        return -1;
    jobs.idempotency = serve->idempotency;
    return backend_open_jobs(&serve->back, &queue, &jobs, err);
}

/* Connections of one address or token: by default half of all, so that none locks out the others.
 */
static size_t share_of(const struct config *config, int64_t wanted)
{
    size_t all = (size_t)config->http_connections;

    if (wanted < 0)
        return all / 2;
    return wanted ? (size_t)wanted : 1;
}

static int open_tls(struct serve *serve, struct error *err)
{
    const struct config *config = serve->back.config;

    if (!*config->tls_cert && !*config->tls_key)
        return 0;
    if (!*config->tls_cert || !*config->tls_key)
        return error_set(err, E_INVALID, "set both `tls_cert` and `tls_key`, or neither");
    serve->is_tls = true;
    return tls_read_files(config->tls_cert, config->tls_key, &serve->tls_cert, &serve->tls_key,
                          err);
}

static void forget_tls(struct serve *serve)
{
    if (serve->tls_key.data)
        explicit_bzero(serve->tls_key.data, serve->tls_key.len);
    buf_done(&serve->tls_key);
    buf_done(&serve->tls_cert);
}

static int open_http(struct serve *serve, struct error *err)
{
    struct http_options http = {
        .max_connections = (size_t)serve->back.config->http_connections,
        .max_per_peer =
            share_of(serve->back.config, serve->back.config->http_connections_per_address),
        .idle_ms = (uint64_t)(serve->back.config->http_idle_s * 1000),
        .body_total = BODIES_BYTES,
        .answers_total = ANSWERS_BYTES,
        .disk = recorder_disk(serve->back.engine.recorder),
        .on_head = route_on_head,
        .on_whole = route_on_whole,
        .is_known = route_is_known,
        .has_others = route_has_others,
        .user = &serve->router,
    };

    serve->router =
        (struct router){.tables = serve_routes,
                        .config = serve->back.config,
                        .recorder = serve->back.engine.recorder,
                        .api = &serve->back.api,
                        .loop = serve->back.engine.loop,
                        .metrics = &serve->back.metrics,
                        .max_per_caller = share_of(serve->back.config,
                                                   serve->back.config->http_connections_per_token)};
    if (open_tls(serve, err) < 0)
        return -1;
    http.cert = (struct span){buf_str(&serve->tls_cert), serve->tls_cert.len};
    http.key = (struct span){buf_str(&serve->tls_key), serve->tls_key.len};
    return http_new(serve->back.engine.loop, &http, &serve->http, err);
}

/* In a cluster skills and states belong to all machines. */
static int open_replicas(struct serve *serve, struct error *err)
{
    struct store *store = serve->back.store;
    struct error why = {0};
    int r = 0;

    if (store && *serve->back.config->cluster_socket)
        r = replicas_new(serve->back.engine.loop, store, &serve->replicas, err);
    else if (store && replicas_leave(store, &why) < 0)
        log_error("store", &why);
    if (serve->replicas && *serve->first_token)
        replicas_learn(serve->replicas, TOKEN_FIRST,
                       (struct span){serve->first_token, strlen(serve->first_token)});
    explicit_bzero(serve->first_token, sizeof(serve->first_token));
    return r;
}

static int open_api(struct serve *serve, struct error *err)
{
    struct api *api = &serve->back.api;

    if (open_jobs(serve, err) < 0 || open_replicas(serve, err) < 0 ||
        coderunner_new(&serve->coderunner, err) < 0 ||
        e2b_new(serve->back.engine.loop, &serve->e2b, err) < 0 ||
        jupyter_new(&serve->jupyter, err) < 0 || open_http(serve, err) < 0)
        return -1;
    loop_on_turn(serve->back.engine.loop, metrics_add_turn, &serve->back.metrics);
    serve->openapi = (struct openapi){.tables = serve_routes};
    api->coderunner = serve->coderunner;
    api->e2b = serve->e2b;
    api->jupyter = serve->jupyter;
    api->idempotency = serve->idempotency;
    api->auth = serve->auth;
    api->events = api->undos.events = serve->events;
    api->config_path = serve->config_path;
    api->openapi = &serve->openapi;
    api->http = serve->http;
    date_millis_now(api->started_at);
    if (*serve->back.config->cluster_socket) {
        api->spent = spent_new();
        if (!api->spent)
            return error_memory(err);
    }
    if (durable_new(api, serve->back.engine.loop, &serve->durable, err) < 0)
        return -1;
    api->durable = serve->durable;
    api->machine = serve->exchanges ? exchanges_door(serve->exchanges) : NULL;
    api->has_console = console_is_there(serve->back.config);
    return open_mcp(serve, err);
}

static int open_sockets(struct serve *serve, struct error *err)
{
    struct serve_sockets *sockets = &serve->sockets;

    if (serve_sockets_open(sockets, serve->back.config, serve->http, serve->is_tls,
                           serve->token_path != NULL, err) < 0)
        return -1;
    memcpy(serve->back.api.origin, sockets->origin, sizeof(serve->back.api.origin));
    return 0;
}

/* --- stopping --- */

static void on_idle(void *arg)
{
    struct serve *serve = arg;

    serve->is_http_idle = true;
    if (serve->are_jobs_idle)
        loop_stop(serve->back.engine.loop);
}

/* Nobody is connected for the sake of a durable job. */
static void on_jobs_idle(void *arg)
{
    struct serve *serve = arg;

    serve->are_jobs_idle = true;
    if (serve->is_http_idle)
        loop_stop(serve->back.engine.loop);
}

static void on_grace(void *arg)
{
    struct serve *serve = arg;

    if (serve->n_signals > 1) { /* they did not stop either */
        loop_stop(serve->back.engine.loop);
        return;
    }
    serve->n_signals++;
    jobs_cancel_all(serve->back.jobs);
    loop_timer_start(serve->grace, INTERRUPT_MS);
}

static void on_signal(void *arg)
{
    struct serve *serve = arg;

    if (serve->n_signals++) {
        loop_stop(serve->back.engine.loop);
        return;
    }
    LOG_EVENT(LOG_INFO, "stop", {"message", "told to stop; running programs may finish"});
    service_notify("STOPPING=1\nSTATUS=Waiting for running programs");
    serve->router.is_stopping = true;
    jobs_close(serve->back.jobs);
    events_close(serve->events);
    mcp_http_stop(serve->back.api.mcp);
    durable_stop(serve->durable, on_jobs_idle, serve);
    http_stop(serve->http, on_idle, serve);
    loop_timer_start(serve->grace, (uint64_t)(serve->back.config->stop_grace_s * 1000));
}

/* Everything the settings name has to be there, and a program must be able to get it. */
static int check_settings(const struct serve *serve, const struct config *config, struct error *err)
{
    struct run *run = run_new();
    int r = run ? grants_of_settings(config, run, err) : error_memory(err);

    if (r == 0)
        r = workdir_of_settings(config, run, err);
    if (r == 0 && run->terms.net)
        r = egress_check(&serve->back.engine.egress, run->terms.net, err);
    run_free(run);
    return r;
}

/* The settings are read again. A mistake in them changes nothing. Sessions keep what they have. */
static int reload(struct serve *serve, struct error *err)
{
    cleanup(config_free_p) struct config *next = NULL;
    cleanup(buf_done) struct buf taken, left;
    struct profiles *profiles;

    buf_init(&taken, NAMES_BYTES);
    buf_init(&left, NAMES_BYTES);
    if (config_read_again(serve->back.config, serve->config_path, &next, err) < 0 ||
        check_settings(serve, next, err) < 0 ||
        profiles_read_again(serve->back.profiles, next, &profiles, err) < 0)
        return -1;
    if (serve->exchanges) /* the engine inside keeps those that it has, so we do */
        profiles_free(profiles);
    else
        profiles_replace(serve->back.profiles, profiles);
    if (config_take_over(serve->back.config, take_ptr(next), &taken, &left, err) < 0)
        return -1;
    if (serve->exchanges && buf_add_str(&left, left.len ? ", profiles" : "profiles", err) < 0)
        return -1;
    LOG_EVENT(LOG_INFO, "reload", {"message", "the settings and tokens were read again"},
              {"changed", buf_str(&taken), .is_left_out = !taken.len},
              {"needs_restart", buf_str(&left), .is_left_out = !left.len});
    return 0;
}

/* A terminal that goes away takes its server along. Where there is none, it is the operator, who
 * has changed something. */
static void on_hangup(void *arg)
{
    struct serve *serve = arg;
    struct error err = {0};

    if (isatty(STDIN_FILENO)) {
        on_signal(serve);
        return;
    }
    auth_refresh(serve->auth);
    if (reload(serve, &err) < 0)
        log_error("reload", &err);
}

/* Nobody is told that we are there before a signal to stop would be heard. */
static int run_loop(struct serve *serve, struct error *err)
{
    static const int signals[] = {SIGINT, SIGTERM};
    struct loop_watch *watches[ARRAY_SIZE(signals)] = {0}, *hangup;
    int r;

    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        watches[i] = loop_watch_signal(serve->back.engine.loop, signals[i], on_signal, serve);
    hangup = loop_watch_signal(serve->back.engine.loop, SIGHUP, on_hangup, serve);
    serve->grace = loop_timer(serve->back.engine.loop, on_grace, serve);
    if (serve->grace) {
        serve_announce(serve->back.config, &serve->sockets, serve->token_path,
                       auth_has_first(serve->auth));
        durable_start(serve->durable);
        r = loop_run(serve->back.engine.loop, err);
    } else {
        r = error_memory(err);
    }
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        loop_watch_free(watches[i]);
    loop_watch_free(hangup);
    loop_watch_free(serve->grace);
    return r;
}

/* Clients first, then sandboxes, then what both stood on. */
static void serve_done(struct serve *serve)
{
    http_free(serve->http);
    if (serve->durable)
        durable_stop(serve->durable, NULL, NULL);
    mcp_http_free(serve->back.api.mcp);
    mcp_host_close(&serve->mcp);
    forget_tls(serve);
    /* Its janitor lives in our cgroup, which the engine gives back. */
    serve_sockets_done(&serve->sockets);
    engine_end(&serve->back.engine);
    openapi_done(&serve->openapi);
    json_decref(serve->back.api.doctor);
    coderunner_free(serve->coderunner);
    e2b_free(serve->e2b);
    jupyter_free(serve->jupyter);
    durable_free(serve->durable);
    backend_end_jobs(&serve->back);
    replicas_free(serve->replicas);
    spent_free(serve->back.api.spent);
    exchanges_free(serve->exchanges);
    idempotency_free(serve->idempotency);
    events_free(take_ptr(serve->events));
    backend_done(&serve->back);
    auth_free(serve->auth);
    free(serve->token_path);
    if (serve->is_started)
        LOG_EVENT(LOG_INFO, "stop", {"message", "stopped"});
    log_close();
}

static int open_all(struct serve *serve, struct error *err)
{
    if (open_auth(serve, err) < 0 || open_engine(serve, err) < 0 ||
        check_settings(serve, serve->back.config, err) < 0 || open_api(serve, err) < 0 ||
        open_sockets(serve, err) < 0 ||
        e2b_open(&serve->back.api, serve->sockets.is_beyond, err) < 0)
        return -1;
    return engine_start_server(&serve->back.engine, serve->back.config, err);
}

/* The log is read by machines from its first line on. */
static int fail(struct error *err)
{
    int code = error_code_exit(err->code);

    if (!log_is_json())
        return cmd_fail(err);
    log_error("failed", err);
    return code;
}

int cmd_serve(int argc, char **argv)
{
    cleanup(serve_done) struct serve serve = {.back.config = config_new(),
                                              .sockets = SERVE_SOCKETS_NONE};
    struct error err = {0};
    int r;

    if (!serve.back.config) {
        error_memory(&err);
        return cmd_fail(&err);
    }
    r = parse(&serve, &serve.config_path, argc, argv);
    if (r > 0)
        return r - 1;
    service_open();
    if (serve_sockets_take(&serve.sockets, &err) < 0 ||
        config_load(serve.back.config, serve.config_path, &err) < 0)
        return cmd_fail(&err);
    backend_open_log(serve.back.config, LOG_INFO);
    id_set_node(serve.back.config->node);
    if (open_all(&serve, &err) < 0)
        return fail(&err);
    serve.is_started = true;
    return run_loop(&serve, &err) < 0 ? fail(&err) : 0;
}
