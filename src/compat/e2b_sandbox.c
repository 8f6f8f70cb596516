/* The table of E2B's sandboxes: sessions with another name, tokens and an end of their own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "api/credential.h"
#include "api/host_name.h"
#include "base/cleanup.h"
#include "base/date.h"
#include "base/hex.h"
#include "base/json.h"
#include "base/sha256.h"
#include "base/span.h"
#include "compat/e2b_internal.h"

#define PROFILE "open"

#define KEY_PREFIX "e2b_"

/* The last of a request's params: the id of the sandbox that it was let in to. */
#define ID_PARAM (REQUEST_PARAMS_MAX - 1)

/* --- names and secrets --- */

int e2b_make_id(char id[E2B_ID_LEN + 1])
{
    static const char alphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";
    uint8_t chance[E2B_ID_LEN];

    if (getrandom(chance, sizeof(chance), 0) != (ssize_t)sizeof(chance))
        return -1;
    for (size_t i = 0; i < E2B_ID_LEN; i++)
        id[i] = alphabet[chance[i] & 31];
    id[E2B_ID_LEN] = '\0';
    return 0;
}

static int make_token(char token[E2B_TOKEN_LEN + 1], const char prefix[4])
{
    uint8_t chance[SHA256_BYTES];

    if (getrandom(chance, sizeof(chance), 0) != (ssize_t)sizeof(chance))
        return -1;
    memcpy(token, prefix, 4);
    hex_write(chance, sizeof(chance), token + 4);
    return 0;
}

/* --- the table --- */

static void free_sandbox(struct e2b_sandbox *sandbox)
{
    e2b_watchers_done(sandbox);
    for (size_t i = 0; i < E2B_WRITTEN_MAX; i++)
        free(sandbox->written[i]);
    TAILQ_REMOVE(&sandbox->e2b->sandboxes, sandbox, link);
    loop_watch_free(sandbox->end);
    json_decref(sandbox->metadata);
    json_decref(sandbox->file_metadata);
    free(sandbox->metrics);
    free(sandbox->template);
    explicit_bzero(sandbox->access_token, sizeof(sandbox->access_token));
    explicit_bzero(sandbox->traffic_token, sizeof(sandbox->traffic_token));
    free(sandbox);
}

/* Its maker may still use it: another token of that name is somebody else's. */
static bool has_owner(const struct e2b_sandbox *sandbox)
{
    const struct caller *caller = sandbox->caller;

    return caller->is_known && !caller->is_shut_out && caller->generation == sandbox->generation;
}

bool e2b_sandbox_is_of(const struct e2b_sandbox *sandbox, const char *owner)
{
    return !sandbox->waiting && !sandbox->is_ending && has_owner(sandbox) &&
           strcmp(sandbox->caller->name, owner) == 0;
}

struct e2b_sandbox *e2b_sandbox_find(const struct e2b *e2b, const char *id, size_t len,
                                     const char *owner)
{
    const char *hyphen = memchr(id, '-', len); /* old clients add the name of a host */
    struct e2b_sandbox *s;

    if (hyphen)
        len = (size_t)(hyphen - id);
    TAILQ_FOREACH(s, &e2b->sandboxes, link)
        if (len == strlen(s->id) && memcmp(s->id, id, len) == 0 && !s->waiting && !s->is_ending &&
            (!owner || e2b_sandbox_is_of(s, owner)))
            return s;
    return NULL;
}

void e2b_sandbox_close(struct e2b_sandbox *sandbox, const char *why)
{
    sandbox->is_ending = true;
    session_close(sandbox->session, why);
}

static void on_time(void *arg)
{
    struct e2b_sandbox *sandbox = arg;

    if (!sandbox->pauses || session_pause(sandbox->session, NULL) < 0)
        e2b_sandbox_close(sandbox, "its time was up");
}

bool e2b_sandbox_is_paused(const struct e2b_sandbox *sandbox)
{
    struct session_info info;

    session_info(sandbox->session, &info);
    return info.state == SESSION_PAUSED;
}

int e2b_sandbox_pause(struct e2b_sandbox *sandbox, struct error *err)
{
    if (session_pause(sandbox->session, err) < 0)
        return -1;
    loop_timer_stop(sandbox->end); /* until it goes on */
    return 0;
}

void e2b_sandbox_set_end(struct e2b_sandbox *sandbox, uint64_t timeout_ms)
{
    struct session_info info;
    uint64_t left;

    session_info(sandbox->session, &info);
    left = info.lifetime_ms > info.age_ms ? info.lifetime_ms - info.age_ms : 0;
    if (info.lifetime_ms && timeout_ms > left)
        timeout_ms = left;
    sandbox->end_ms = (uint64_t)date_now_ms() + timeout_ms;
    loop_timer_start(sandbox->end, timeout_ms);
}

/* A client that came by `api.DOMAIN` finds the sandboxes below it; on this machine, all names below
 * `localhost` do. */
void e2b_read_domain(const struct request *request, char domain[E2B_DOMAIN_MAX])
{
    static const char *const local[] = {"localhost", "127.0.0.1", "[::1]"};
    struct span host = request_header(request, "host");

    *domain = '\0';
    if (!host.data || host.len >= E2B_DOMAIN_MAX)
        return;
    if (host.len > 4 && strncasecmp(host.data, "api.", 4) == 0) {
        (void)snprintf(domain, E2B_DOMAIN_MAX, "%.*s", (int)host.len - 4, host.data + 4);
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(local); i++) {
        size_t len = strlen(local[i]);

        if (host.len >= len && strncasecmp(host.data, local[i], len) == 0 &&
            (host.len == len || host.data[len] == ':'))
            (void)snprintf(domain, E2B_DOMAIN_MAX, "localhost%.*s", (int)(host.len - len),
                           host.data + len);
    }
}

json_t *e2b_sandbox_json(const struct e2b_sandbox *sandbox)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s?}", "templateID", sandbox->template,
                     "sandboxID", sandbox->name, "clientID", "belljar", "envdVersion", E2B_VERSION,
                     "envdAccessToken", sandbox->access_token, "trafficAccessToken",
                     sandbox->traffic_token, "domain", *sandbox->domain ? sandbox->domain : NULL);
}

/* --- opening --- */

static void on_start(void *user, struct session *session)
{
    struct e2b_sandbox *sandbox = user;
    struct request *request = sandbox->waiting;

    (void)session;
    sandbox->waiting = NULL;
    if (!request)
        return;
    request->on_gone = NULL;
    request_answer_json(request, 201, e2b_sandbox_json(sandbox));
}

static void on_end(void *user, struct session *session, const char *why)
{
    struct e2b_sandbox *sandbox = user;
    struct request *request = take_ptr(sandbox->waiting);
    struct error err = {0};

    (void)session;
    e2b_processes_done(sandbox);
    if (request) {
        request->on_gone = NULL;
        error_set(&err, E_SYSTEM, "the sandbox could not be started: %s", why);
        request_answer_error(request, &err);
    }
    free_sandbox(sandbox);
}

/* Nobody knows of it. */
static void on_creator_gone(struct request *request)
{
    struct e2b_sandbox *sandbox = request->user;

    sandbox->waiting = NULL;
    e2b_sandbox_close(sandbox, "its client has gone");
}

static struct e2b_sandbox *new_sandbox(struct e2b *e2b, const struct e2b_order *order,
                                       struct error *err)
{
    struct e2b_sandbox *sandbox = calloc(1, sizeof(*sandbox));

    if (!sandbox) {
        error_memory(err);
        return NULL;
    }
    TAILQ_INIT(&sandbox->processes);
    TAILQ_INSERT_HEAD(&e2b->sandboxes, sandbox, link);
    sandbox->e2b = e2b;
    sandbox->serial = ++e2b->last_serial;
    sandbox->caller = order->caller;
    sandbox->generation = order->generation;
    sandbox->pauses = order->pauses;
    sandbox->resumes = order->resumes;
    sandbox->has_no_token = order->has_no_token;
    sandbox->timeout_ms = order->timeout_ms;
    sandbox->started_ms = (uint64_t)date_now_ms();
    (void)snprintf(sandbox->domain, sizeof(sandbox->domain), "%s", order->domain);
    sandbox->template = strdup(order->template);
    sandbox->metadata = order->metadata ? json_incref(order->metadata) : json_object();
    sandbox->end = loop_timer(e2b->loop, on_time, sandbox);
    if (order->is_debug)
        (void)snprintf(sandbox->id, sizeof(sandbox->id), "%s", HOST_NAME_DEBUG);
    if (sandbox->template && sandbox->metadata && sandbox->end &&
        (order->is_debug || e2b_make_id(sandbox->id) == 0) &&
        make_token(sandbox->access_token, "sbx_") == 0 &&
        make_token(sandbox->traffic_token, "trf_") == 0) {
        (void)snprintf(sandbox->name, sizeof(sandbox->name), "%s%s%s", sandbox->id,
                       *id_node() && !order->is_debug ? "-" : "", order->is_debug ? "" : id_node());
        return sandbox;
    }
    free_sandbox(sandbox);
    error_memory(err);
    return NULL;
}

static int add_variables(json_t *env, struct run_request *asked, struct error *err)
{
    const json_t *value;
    const char *name;

    json_object_foreach(env, name, value)
    {
        if (e2b_add_variable(name, value, asked, err) < 0)
            return -1;
    }
    return 0;
}

/* By the name that E2B's programs know. */
static int add_home(const json_t *env, struct run_request *asked, struct error *err)
{
    static const char *const names[] = {"HOME", "PWD"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (!json_object_get(env, names[i]) &&
            run_request_add_variable(asked, (struct span){names[i], strlen(names[i])}, E2B_HOME,
                                     err) < 0)
            return -1;
    return 0;
}

/* Clients name no ports: a sandbox has those that the operator lists, and for `*` the usual ones of
 * servers. */
static int add_ports(const struct config *config, struct run_request *asked, struct error *err)
{
    static const char *const usual[] = {"3000", "3001", "4000", "5000", "5173", "7860",
                                        "8000", "8080", "8081", "8501", "8888", "9000"};
    const struct config_list *list = &config->session_ports;
    size_t i;

    if (!list->count)
        return 0;
    asked->ports.items = calloc(LIMIT_PORTS, sizeof(*asked->ports.items));
    if (!asked->ports.items)
        return error_memory(err);
    for (i = 0; i < list->count; i++)
        if (strcmp(list->items[i], "*") == 0)
            break;
    for (size_t k = 0; k < (i < list->count ? ARRAY_SIZE(usual) : list->count); k++)
        if (asked->ports.count < LIMIT_PORTS)
            asked->ports.items[asked->ports.count++] = i < list->count ? usual[k] : list->items[k];
    return 0;
}

/* A session that begins anew. */
static int open_fresh(const struct api *api, const struct e2b_order *order,
                      struct session_options *options, struct session **ret_session,
                      struct error *err)
{
    const struct admission admission = api_admission(api, order->caller);
    cleanup(run_request_done) struct run_request asked = {.profile = PROFILE,
                                                          .environment = order->environment};

    if (add_home(order->env, &asked, err) < 0 || add_variables(order->env, &asked, err) < 0 ||
        add_ports(api->config, &asked, err) < 0)
        return -1;
    if (admit_session(&admission, &asked, api->sessions, options, ret_session, err) == 0)
        return 0;
    if (!asked.ports.count || err->code != E_UNSUPPORTED)
        return -1;
    error_done(err); /* a host without networks of their own: then without ports */
    asked.ports.count = 0;
    return admit_session(&admission, &asked, api->sessions, options, ret_session, err);
}

/* A session that begins with the variables and files of a snapshot, on the terms of that. */
static int open_snapshot(const struct api *api, const struct e2b_order *order,
                         struct session_options *options, struct session **ret_session,
                         struct error *err)
{
    const struct run_terms *terms =
        sessions_snapshot_terms(api->sessions, order->caller->name, order->snapshot, err);

    if (!terms || admission_check_terms(order->caller, terms, err) < 0)
        return -1;
    if (json_object_size(order->env))
        return error_set(err, E_INVALID, "`envVars`: a snapshot has its own");
    options->max_own = admission_max_sessions(order->caller);
    return sessions_open_snapshot(api->sessions, order->snapshot, options, ret_session, err);
}

int e2b_sandbox_open(struct api *api, struct request *request, const struct e2b_order *order,
                     struct error *err)
{
    struct e2b_sandbox *sandbox = new_sandbox(api->e2b, order, err);
    /* Its own end takes the place of the idle clock. */
    struct session_options options = {
        .owner = order->caller->name,
        .lifetime_ms = (uint64_t)(api->config->session_lifetime_s * 1000),
        .on_start = on_start,
        .on_end = on_end,
        .user = sandbox,
    };

    if (!sandbox)
        return -1;
    /* If a sandbox is ready, the answer is given in this call. */
    sandbox->waiting = request;
    if (request) {
        request->user = sandbox;
        request->on_gone = on_creator_gone;
    }
    if ((order->snapshot ? open_snapshot : open_fresh)(api, order, &options, &sandbox->session,
                                                       err) < 0) {
        if (request)
            request->on_gone = NULL;
        free_sandbox(sandbox);
        return -1;
    }
    e2b_sandbox_set_end(sandbox, order->timeout_ms);
    return 0;
}

struct e2b_sandbox *e2b_sandbox_adopt(struct e2b *e2b, const struct e2b_order *order,
                                      struct session *session, struct error *err)
{
    struct e2b_sandbox *sandbox = new_sandbox(e2b, order, err);

    if (sandbox) {
        sandbox->session = session;
        e2b_sandbox_set_end(sandbox, order->timeout_ms);
    }
    return sandbox;
}

void e2b_sandbox_on_end(void *user, struct session *session, const char *why)
{
    struct e2b *e2b = user;
    struct e2b_sandbox *s;

    TAILQ_FOREACH(s, &e2b->sandboxes, link)
        if (s->session == session)
            break;
    if (s)
        on_end(s, session, why);
}

/* --- who asks --- */

/* Clients check that a key has the form of E2B's: the digits are those of a token of ours. */
int e2b_identify_owner(struct request *request, struct caller **ret_caller, struct error *err)
{
    struct span key = request_header(request, "x-api-key");
    char token[TOKEN_LEN + 1];
    int r;

    if (!key.data)
        key = credential_of_headers(request);
    if (key.data && span_starts_with(key, KEY_PREFIX) &&
        key.len == TOKEN_LEN - strlen("bj_") + strlen(KEY_PREFIX)) {
        (void)snprintf(token, sizeof(token), "bj_%.*s", (int)(key.len - strlen(KEY_PREFIX)),
                       key.data + strlen(KEY_PREFIX));
        key = (struct span){token, TOKEN_LEN};
    }
    r = credential_check(request, key, ret_caller, err);
    explicit_bzero(token, sizeof(token));
    /* Sandboxes have tokens of their own, which would outlive the page's. */
    if (r == 0 && request->page)
        r = error_set(err, E_AUTH, "the token of a console page is not a key");
    if (r < 0 && err->code == E_AUTH)
        (void)error_hint(err, "the key is a token of this server with `e2b_` instead of `bj_`");
    return r;
}

static void forget_id(struct request *request)
{
    free(request->params[ID_PARAM]);
    request->params[ID_PARAM] = NULL;
}

/* It runs, or goes on now because somebody wants something of it. */
static bool is_awake(struct e2b_sandbox *sandbox)
{
    if (!e2b_sandbox_is_paused(sandbox))
        return true;
    if (!sandbox->resumes || session_resume(sandbox->session, NULL) < 0)
        return false;
    e2b_sandbox_set_end(sandbox, sandbox->timeout_ms);
    return true;
}

/* For requests whose credentials have been checked: nobody else wakes a sandbox. */
static int let_in(struct request *request, struct e2b_sandbox *sandbox, struct caller **ret_caller,
                  struct error *err)
{
    if (!is_awake(sandbox))
        return error_set(err, E_NOT_FOUND, "the sandbox is paused");
    forget_id(request);
    request->params[ID_PARAM] = strdup(sandbox->id);
    if (!request->params[ID_PARAM])
        return error_memory(err);
    *ret_caller = sandbox->caller;
    return 0;
}

struct span e2b_named_id(const struct request *request)
{
    if (*request->host_id)
        return (struct span){request->host_id, strlen(request->host_id)};
    return request_header(request, "e2b-sandbox-id");
}

/* 0: the request does not say. */
static uint64_t named_port(const struct request *request)
{
    if (*request->host_id)
        return request->host_port;
    return e2b_header_number(request, "e2b-sandbox-port");
}

/* The sandbox that the request names. NULL: the answer has been given. */
static struct e2b_sandbox *find_named(struct request *request, enum e2b_port port)
{
    const struct api *api = request->api;
    struct span id = e2b_named_id(request);
    bool has_port = *request->host_id || request_header(request, "e2b-sandbox-port").data;
    struct e2b_sandbox *sandbox;

    auth_refresh(api->auth);
    (void)e2b_is_debug(request); /* makes its sandbox */
    sandbox = id.data ? e2b_sandbox_find(api->e2b, id.data, id.len, NULL) : NULL;
    if (sandbox && !has_owner(sandbox))
        sandbox = NULL;
    if (!sandbox || (e2b_sandbox_is_paused(sandbox) && !sandbox->resumes)) {
        e2b_answer_gone(request, id, "The sandbox was not found");
        return NULL;
    }
    if (has_port && named_port(request) != (uint64_t)port) {
        e2b_answer_gone(request, id, "The sandbox is running but port is not open");
        return NULL;
    }
    return sandbox;
}

int e2b_identify_envd(struct request *request, struct caller **ret_caller, struct error *err)
{
    struct e2b_sandbox *sandbox = find_named(request, E2B_PORT_ENVD);

    if (!sandbox)
        return 1;
    if (!e2b_is_debug(request) &&
        !e2b_is_secret(request_header(request, "x-access-token"), sandbox->access_token))
        return error_set(err, E_AUTH, "the access token of the sandbox is missing or wrong");
    return let_in(request, sandbox, ret_caller, err);
}

int e2b_identify_interpreter(struct request *request, struct caller **ret_caller, struct error *err)
{
    struct e2b_sandbox *sandbox = find_named(request, E2B_PORT_INTERPRETER);

    if (!sandbox)
        return 1;
    if (!e2b_is_debug(request) && !sandbox->has_no_token &&
        !e2b_is_secret(request_header(request, "e2b-traffic-access-token"),
                       sandbox->traffic_token) &&
        !e2b_is_secret(request_header(request, "x-access-token"), sandbox->access_token))
        return error_set(err, E_DENIED, "the access token of the sandbox is missing or wrong");
    return let_in(request, sandbox, ret_caller, err);
}

/* A port of a program's own: for who has the token for that, or the owner's. */
int e2b_identify_port(struct request *request, struct caller **ret_caller, struct error *err)
{
    const struct api *api = request->api;
    const char *id = request->params[0];
    struct e2b_sandbox *s;

    auth_refresh(api->auth);
    s = e2b_sandbox_find(api->e2b, id, strlen(id), NULL);
    if (!s || !has_owner(s) || (e2b_sandbox_is_paused(s) && !s->resumes)) {
        e2b_answer_gone(request, (struct span){id, strlen(id)}, "The sandbox was not found");
        return 1;
    }
    if (!e2b_is_secret(request_header(request, "e2b-traffic-access-token"), s->traffic_token)) {
        if (!request_header(request, "x-api-key").data)
            return error_set(err, E_DENIED,
                             "the header `E2B-Traffic-Access-Token` is missing or wrong");
        if (e2b_identify_owner(request, ret_caller, err) < 0)
            return -1;
        if (*ret_caller != s->caller)
            return error_set(err, E_DENIED, "the sandbox belongs to another token");
    }
    if (!is_awake(s))
        return error_set(err, E_NOT_FOUND, "the sandbox is paused");
    *ret_caller = s->caller;
    return 0;
}

int e2b_port_begin(struct request *request, struct error *err)
{
    const struct api *api = request->api;
    const char *id = request->params[0];
    struct e2b_sandbox *s = e2b_sandbox_find(api->e2b, id, strlen(id), request->owner);

    if (!s)
        return error_set(err, E_NOT_FOUND, "the sandbox has ended");
    return api_port_begin(request, s->session, err);
}

/* --- signed addresses --- */

/* Such an address may name no sandbox: then it is the one whose token made the signature. */
int e2b_identify_files(struct request *request, struct caller **ret_caller, struct error *err)
{
    const struct api *api = request->api;
    struct span id = e2b_named_id(request);
    cleanup_json json_t *query = NULL;
    struct e2b_signed asked;
    struct e2b_sandbox *s;

    if (!span_contains(request->head.query, "signature="))
        return e2b_identify_envd(request, ret_caller, err);
    if (schema_read_query(request->route->query, request->head.query, &query, err) < 0)
        return -1;
    if (!e2b_signature_read(query, span_is(request->head.method, "GET"), (uint64_t)date_now_ms(),
                            &asked))
        return error_set(err, E_AUTH, "the signature has expired, or is for no user");
    auth_refresh(api->auth);
    TAILQ_FOREACH(s, &api->e2b->sandboxes, link)
        if (!s->waiting && !s->is_ending && has_owner(s) &&
            (!id.data || e2b_sandbox_find(api->e2b, id.data, id.len, NULL) == s) &&
            e2b_signature_is_of(&asked, s->access_token))
            return let_in(request, s, ret_caller, err);
    error_set(err, E_AUTH, "the signature is wrong or has expired, or its sandbox has ended");
    return error_hint(err, "make a new address");
}

struct e2b_sandbox *e2b_sandbox_of(struct request *request)
{
    struct api *api = request->api;
    const char *id = request->params[ID_PARAM];
    struct e2b_sandbox *sandbox = e2b_sandbox_find(api->e2b, id, strlen(id), request->owner);
    struct error err = {0};

    if (!sandbox)
        e2b_answer_gone(request, (struct span){id, strlen(id)}, "The sandbox was not found");
    else if (admission_check_session(request->caller, sandbox->session, &err) == 0)
        return sandbox;
    else
        request_answer_error(request, &err);
    return NULL;
}

void e2b_show_health(struct request *request)
{
    bool is_interpreter = named_port(request) == (uint64_t)E2B_PORT_INTERPRETER;

    const struct e2b_sandbox *sandbox =
        find_named(request, is_interpreter ? E2B_PORT_INTERPRETER : E2B_PORT_ENVD);
    struct session_info info;

    if (!sandbox)
        return;
    session_info(sandbox->session, &info);
    if (info.state == SESSION_STARTING) { /* the one of the debug mode */
        e2b_answer_gone(request, e2b_named_id(request), "The sandbox is starting");
        return;
    }
    if (is_interpreter)
        e2b_answer_plain(request, 200, "\"OK\"");
    else
        request_answer_empty(request, 204);
}

/* --- the memory --- */

int e2b_new(struct loop *loop, struct e2b **ret_e2b, struct error *err)
{
    struct e2b *e2b = calloc(1, sizeof(*e2b));

    if (e2b)
        e2b->tick = loop_timer(loop, e2b_stream_tick, e2b);
    if (!e2b || !e2b->tick) {
        free(e2b);
        return error_memory(err);
    }
    e2b->loop = loop;
    TAILQ_INIT(&e2b->sandboxes);
    TAILQ_INIT(&e2b->orphans);
    *ret_e2b = e2b;
    return 0;
}

void e2b_free(struct e2b *e2b)
{
    if (!e2b)
        return;
    while (!TAILQ_EMPTY(&e2b->sandboxes)) {
        struct e2b_sandbox *sandbox = TAILQ_FIRST(&e2b->sandboxes);

        e2b_processes_free(&sandbox->processes);
        free_sandbox(sandbox);
    }
    e2b_processes_free(&e2b->orphans);
    loop_watch_free(e2b->tick);
    free(e2b);
}
