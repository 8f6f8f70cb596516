/* Sessions: sandboxes that stay, and the cells that are run in them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/attachments.h"
#include "api/rights.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/language.h"
#include "base/net.h"
#include "engine/place.h"

/* clang-format off */
static const struct schema_field open_fields[] = {
    {"name", SCHEMA_STRING, .max_len = 64,
     .help = "an optional name besides the id; up to 64 letters, digits, `.`, `_` and `-`"},
    {"idle_s", SCHEMA_NUMBER, .min = 1, .max = LIMIT_SESSION_CLOCK_S,
     .help = "seconds without a cell after which it ends"},
    {"lifetime_s", SCHEMA_NUMBER, .min = 1, .max = LIMIT_SESSION_CLOCK_S,
     .help = "seconds until it ends after it was opened"},
    {"snapshot", SCHEMA_STRING, .max_len = 64,
     .help = "a snapshot with whose variables and files it begins; profile, limits and grants are "
             "the snapshot's and cannot be given"},
    {"ports", SCHEMA_STRINGS, .max_len = LIMIT_PORTS,
     .help = "ports of servers in it that clients reach below /v1/sessions/ID/ports/, of those that the operator allows: 8000"},
    API_PROFILE_FIELDS,
    API_LIMITS_OF_CELL
    API_LIMITS_OF_SANDBOX
    {0},
};

static const struct schema_field cell_fields[] = {
    API_CODE_FIELDS,
    {"context", SCHEMA_STRING, .max_len = ID_SIZE - 1,
     .help = "the id of the context to run it in, which decides on the language"},
    {"stdin_open", SCHEMA_BOOLEAN,
     .help = "a line that it reads is asked for with the event `input`, and sent with POST /v1/runs/ID/stdin"},
    API_LIMITS_OF_CELL
    API_DETACH_FIELD,
    ATTACHMENTS_FIELDS,
    {0},
};
/* clang-format on */

static const struct schema_field nothing[] = {{0}};

static const struct schema_field restart_fields[] = {
    API_LANGUAGE_FIELD,
    {0},
};

/* --- as JSON --- */

static json_t *limits_json(const struct run_limits *limits)
{
    json_t *object = json_object();

    for (size_t i = 0; object && i < RUN_LIMIT_REQUEST_ROWS; i++) {
        const struct run_limit *limit = &run_limit_table[i];
        double value = run_limit_get(limits, limit);

        if (json_object_set_new(object, limit->name,
                                run_limit_is_whole(limit) ? json_integer((json_int_t)value)
                                                          : json_real(value)) < 0) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

static json_t *seconds_or_null(uint64_t ms)
{
    return ms ? json_real((double)ms / 1000) : json_null();
}

/* ["/srv/data", "/srv/out:rw"], as a request says it. */
static json_t *allow_json(const struct run_terms *terms)
{
    json_t *list = json_array();

    for (size_t i = 0; i < terms->n_grants; i++) {
        const struct run_grant *grant = &terms->grants[i];
        cleanup_free char *text = NULL;

        if (asprintf(&text, grant->mode == RUN_GRANT_RO ? "%s" : "%s:%s", grant->path,
                     run_grant_mode_name(grant->mode)) < 0)
            text = NULL;
        if (text)
            (void)json_array_append_new(list, json_text_string(text, strlen(text)));
    }
    return list;
}

static json_t *net_json(const struct net *net)
{
    json_t *list = json_array();

    for (size_t i = 0; net && i < net->count; i++) {
        char text[1024];

        if (net_grant_text(&net->grants[i], text, sizeof(text)) >= 0)
            (void)json_array_append_new(list, json_text_string(text, strlen(text)));
    }
    if (net && net->asks)
        (void)json_array_append_new(list, json_string(NET_ASK));
    return list;
}

static json_t *ports_json(const struct run_terms *terms)
{
    json_t *list = json_array();

    for (size_t i = 0; i < terms->n_ports; i++) {
        char text[8];

        (void)snprintf(text, sizeof(text), "%u", terms->ports[i]);
        (void)json_array_append_new(list, json_string(text));
    }
    return list;
}

json_t *api_session_json(const struct session *session)
{
    static const char *const states[] = {
        [SESSION_STARTING] = "starting",
        [SESSION_IDLE] = "idle",
        [SESSION_BUSY] = "busy",
        [SESSION_PAUSED] = "paused",
    };
    struct session_info info;
    const char *start;

    session_info(session, &info);
    start = place_start(info.terms);
    return json_pack(
        "{s:s, s:s, s:s?, s:s, s:s, s:s, s:I, s:I, s:I, s:f, s:f, s:o, s:o, s:o, s:o, s:o, s:o, "
        "s:o}",
        "session_id", info.id, "owner", info.owner, "parent", info.parent, "name", info.name,
        "profile", info.profile, "state", states[info.state], "cells", (json_int_t)info.cells,
        "waiting", (json_int_t)info.waiting, "commands", (json_int_t)info.commands, "age_s",
        (double)info.age_ms / 1000, "idle_s", (double)info.idle_ms / 1000, "idle_limit_s",
        seconds_or_null(info.idle_limit_ms), "lifetime_s", seconds_or_null(info.lifetime_ms),
        "limits", limits_json(info.limits), "workdir", json_text_string(start, strlen(start)),
        "allow", allow_json(info.terms), "net", net_json(info.terms->net), "ports",
        ports_json(info.terms));
}

struct session *api_find_session(struct request *request)
{
    struct api *api = request->api;
    struct error err = {0};
    struct session *session =
        sessions_find(api->sessions, request->owner, request->params[0], &err);

    if (!session)
        request_answer_error(request, &err);
    return session;
}

/* --- opening --- */

/* The operator's value is the most that a client gets; 0: no limit. */
int api_read_clock(const json_t *body, const char *name, double most_s, uint64_t *ret_ms,
                   struct error *err)
{
    const json_t *value = json_object_get(body, name);
    double seconds = value ? json_number_value(value) : most_s;

    if (most_s > 0 && seconds > most_s) {
        error_set(err, E_INVALID, "`%s`: the operator allows at most %.15g", name, most_s);
        return error_hint(err, "ask for less, or raise `session_%s`", name);
    }
    *ret_ms = (uint64_t)(seconds * 1000);
    return 0;
}

static int once_claim(const struct request *request, struct error *err)
{
    const struct api *api = request->api;

    if (!request->idempotency.is_set)
        return 0;
    return idempotency_add(api->idempotency, request->owner, &request->idempotency, NULL,
                           loop_now_ns(), err);
}

static void answer_unopened(struct request *request, struct error *err)
{
    const struct api *api = request->api;

    if (request->idempotency.is_set)
        idempotency_drop(api->idempotency, &request->idempotency);
    api_refuse(request, "session", err);
}

/* null, or the ids of the sessions that ended. */
json_t *api_evicted_json(const char *evicted)
{
    json_t *list = evicted ? json_array() : json_null();

    while (evicted && *evicted) {
        size_t len = strcspn(evicted, " ");

        (void)json_array_append_new(list, json_stringn(evicted, len));
        evicted += len + (evicted[len] != '\0');
    }
    return list;
}

static json_t *opened_json(const struct session *session)
{
    json_t *value = api_session_json(session);
    struct session_info info;

    session_info(session, &info);
    (void)json_object_set_new(value, "evicted", api_evicted_json(info.evicted));
    return value;
}

/* For a client that asks again under its key, from now on. */
static void keep_answer(const struct request *request, const json_t *value)
{
    const struct api *api = request->api;
    cleanup(buf_done) struct buf text = BUF_OF(64 * KIB);

    if (request->idempotency.is_set && value &&
        json_text_dump(value, JSON_TEXT_COMPACT, &text, NULL) == 0 &&
        buf_add_str(&text, "\n", NULL) == 0)
        idempotency_keep(api->idempotency, &request->idempotency, buf_str(&text), text.len);
}

static int read_clocks(const struct request *request, struct session_options *options,
                       struct error *err)
{
    const struct config *config = ((const struct api *)request->api)->config;

    if (api_read_clock(request->json, "idle_s", config->session_idle_s, &options->idle_ms, err) < 0)
        return -1;
    return api_read_clock(request->json, "lifetime_s", config->session_lifetime_s,
                          &options->lifetime_ms, err);
}

/* --- waiting for the sandbox ---
 *
 * The answer comes when the sandbox stands, so that whatever the client sends next finds it there:
 * a file could not wait, since its content is already on the way.
 */

#define START_WAIT_MS 5000 /* a busy host: then the session is said to be starting */

/* Lives as long as its session. */
struct opening {
    struct session *session;
    struct request *request; /* that waits, or NULL */
    struct loop_watch *timer;
    bool has_started;
};

static void opening_free(struct opening *opening)
{
    if (opening)
        loop_watch_free(opening->timer);
    free(opening);
}

/* The request that waited; nothing will answer it any more but the caller. */
static struct request *stop_waiting(struct opening *opening)
{
    struct request *request = opening->request;

    loop_timer_stop(opening->timer);
    opening->request = NULL;
    if (request)
        request->on_gone = NULL;
    return request;
}

static void answer_waiting(void *arg)
{
    struct opening *opening = arg;
    struct request *request = stop_waiting(opening);
    json_t *value = request ? opened_json(opening->session) : NULL;

    if (!request)
        return;
    keep_answer(request, value);
    request_answer_json(request, 201, value);
}

static void on_session_start(void *user, struct session *session)
{
    struct opening *opening = user;

    (void)session;
    opening->has_started = true;
    answer_waiting(opening);
}

static void on_session_end(void *user, struct session *session, const char *why)
{
    struct opening *opening = user;
    struct request *request = stop_waiting(opening);
    enum error_code failure = session_failure(session);
    struct error err = {0};

    if (request) {
        error_set(&err, failure != E_NONE ? failure : E_BUSY,
                  "the session ended before it started: %s", why);
        answer_unopened(request, &err);
    }
    opening_free(opening);
}

static void on_opener_gone(struct request *request)
{
    (void)stop_waiting(request->user);
}

static struct opening *opening_new(struct loop *loop, struct error *err)
{
    struct opening *opening = calloc(1, sizeof(*opening));

    if (opening)
        opening->timer = loop_timer(loop, answer_waiting, opening);
    if (opening && opening->timer)
        return opening;
    opening_free(opening);
    error_memory(err);
    return NULL;
}

static void await_start(struct opening *opening, struct request *request, struct session *session)
{
    json_t *value;

    opening->session = session;
    opening->request = request;
    request->user = opening;
    request->on_gone = on_opener_gone;
    if (opening->has_started) {
        answer_waiting(opening);
        return;
    }
    value = opened_json(session);
    keep_answer(request, value);
    json_decref(value);
    loop_timer_start(opening->timer, START_WAIT_MS);
}

/* A session that begins as a snapshot has its own name and clocks, and nothing else of its own. */
static int check_alone(const json_t *body, struct error *err)
{
    static const char *const known[] = {"snapshot", "name", "idle_s", "lifetime_s"};
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)body, name, value)
    {
        bool is_known = false;

        for (size_t i = 0; i < ARRAY_SIZE(known); i++)
            is_known |= strcmp(name, known[i]) == 0;
        if (is_known)
            continue;
        error_set(err, E_INVALID, "`%s` cannot be given with `snapshot`", name);
        return error_hint(err, "the session has the profile, limits and grants of the snapshot");
    }
    return 0;
}

static int open_snapshot(const struct request *request, const char *name,
                         struct session_options *options, struct session **ret_session,
                         struct error *err)
{
    const struct api *api = request->api;
    const struct run_terms *terms;

    if (check_alone(request->json, err) < 0)
        return -1;
    terms = sessions_snapshot_terms(api->sessions, request->owner, name, err);
    if (!terms || admission_check_terms(request->caller, terms, err) < 0)
        return -1;
    options->max_own = admission_max_sessions(request->caller);
    return sessions_open_snapshot(api->sessions, name, options, ret_session, err);
}

static int open_as_asked(const struct request *request, struct session_options *options,
                         struct session **ret_session, struct error *err)
{
    const struct api *api = request->api;
    const struct admission admission = api_admission(api, request->caller);
    const char *snapshot = json_string_value(json_object_get(request->json, "snapshot"));
    cleanup(run_request_done) struct run_request asked = {0};

    if (snapshot)
        return open_snapshot(request, snapshot, options, ret_session, err);
    if (api_read_terms(request->json, &asked, err) < 0)
        return -1;
    return admit_session(&admission, &asked, api->sessions, options, ret_session, err);
}

static void open_session(struct request *request)
{
    const struct api *api = request->api;
    struct error err = {0};
    struct opening *opening;
    struct session_options options = {
        .name = json_string_value(json_object_get(request->json, "name")),
        .owner = request->owner,
        .evicts = admission_evicts(api->config, false),
        .on_start = on_session_start,
        .on_end = on_session_end,
    };
    struct session *session = NULL;

    if (api_is_repeat(request))
        return;
    options.user = opening = opening_new(api->loop, &err);
    if (!opening || read_clocks(request, &options, &err) < 0 || once_claim(request, &err) < 0) {
        opening_free(opening);
        api_refuse(request, "session", &err);
    } else if (open_as_asked(request, &options, &session, &err) < 0) {
        opening_free(opening);
        answer_unopened(request, &err);
    } else {
        await_start(opening, request, session);
    }
}

static const struct schema_field list_fields[] = {
    API_ALL_FIELD,
    {0},
};

static void list_sessions(struct request *request)
{
    struct api *api = request->api;
    json_t *list = json_array();
    struct error err = {0};
    bool is_all;

    if (api_read_all(request, &is_all, &err) < 0) {
        json_decref(list);
        api_refuse(request, "sessions", &err);
        return;
    }
    for (struct session *s = sessions_next(api->sessions, NULL); s;
         s = sessions_next(api->sessions, s)) {
        struct session_info info;

        session_info(s, &info);
        if (is_all || strcmp(info.owner, request->owner) == 0)
            (void)json_array_append_new(list, api_session_json(s));
    }
    request_answer_json(request, 200, json_pack("{s:o}", "sessions", list));
}

static void show_session(struct request *request)
{
    struct session *session = api_find_session(request);

    if (session)
        request_answer_json(request, 200, api_session_json(session));
}

static void close_session(struct request *request)
{
    struct error err = {0};
    struct session *session = api_find_any_session(request, &err);
    struct session_info info;

    if (!session) {
        request_answer_error(request, &err);
        return;
    }
    session_info(session, &info);
    session_close(session, strcmp(info.owner, request->owner) == 0
                               ? "it was closed by its owner"
                               : "it was closed by an operator");
    request_answer_empty(request, 204);
}

/* --- cells --- */

/* The context of a cell, if it names one, and with it the language. */
static int choose_context(const json_t *body, struct session *session, struct run_request *asked,
                          struct error *err)
{
    const char *id = json_string_value(json_object_get(body, "context"));
    struct context_info info;

    if (!id)
        return 0;
    if (session_find_context(session, id, &info, err) < 0)
        return -1;
    if (json_object_get(body, "language") && asked->language != info.language) {
        error_set(err, E_INVALID, "`language`: the context is one of %s",
                  languages[info.language].name);
        return error_hint(err, "leave it out, or open a context of that language");
    }
    asked->language = info.language;
    return 0;
}

/* Only who follows the events hears of it. */
static int choose_input(const struct request *request, struct run_request *asked, struct error *err)
{
    asked->can_type = json_is_true(json_object_get(request->json, "stdin_open"));
    if (!asked->can_type)
        return 0;
    if (asked->input.data)
        return error_set(err, E_INVALID, "`stdin_open`: the cell has `stdin` already");
    if (route_wants_events(request) && !json_is_true(json_object_get(request->json, "detach")))
        return 0;
    error_set(err, E_INVALID, "`stdin_open` is for clients that follow the events of the cell");
    return error_hint(err, "send `Accept: text/event-stream`");
}

static void execute(struct request *request)
{
    struct api *api = request->api;
    struct admission admission = api_admission(api, request->caller);
    struct session *session = api_is_repeat(request) ? NULL : api_find_session(request);
    cleanup(run_request_done) struct run_request asked = {.can_ask = true};
    struct job_order order;
    struct run *cell = NULL;
    struct error err = {0};

    if (!session)
        return;
    admission.session = session;
    admission.has_skills = admission.may_keep = true;
    if (api_read_request(request->json, request->parts, &asked, &err) < 0 ||
        choose_context(request->json, session, &asked, &err) < 0 ||
        choose_input(request, &asked, &err) < 0 ||
        admit_request(&admission, &asked, &cell, &err) < 0) {
        api_refuse(request, "run", &err);
        return;
    }
    if (json_object_get(request->json, "context"))
        (void)snprintf(cell->program.context, sizeof(cell->program.context), "%s",
                       json_string_value(json_object_get(request->json, "context")));
    order = job_order_of(request, cell);
    order.session = session;
    order.is_detached = json_is_true(json_object_get(request->json, "detach"));
    order.correlation_id = json_string_value(json_object_get(request->json, "correlation_id"));
    (void)jobs_start_or_answer(api->jobs, request, &order);
}

static void interrupt(struct request *request)
{
    struct session *session = api_find_session(request);

    if (session)
        request_answer_json(request, 200,
                            json_pack("{s:b}", "interrupted", (int)session_interrupt(session)));
}

/* Answers with the session as it is then. */
static void set_paused(struct request *request, int (*set)(struct session *, struct error *))
{
    struct session *session = api_find_session(request);
    struct error err = {0};

    if (!session)
        return;
    if (admission_check_session(request->caller, session, &err) < 0)
        api_refuse(request, "session", &err);
    else if (set(session, &err) < 0)
        request_answer_error(request, &err);
    else
        request_answer_json(request, 200, api_session_json(session));
}

static void pause_session(struct request *request)
{
    set_paused(request, session_pause);
}

static void resume_session(struct request *request)
{
    set_paused(request, session_resume);
}

static void restart(struct request *request)
{
    struct session *session = api_find_session(request);
    struct error err = {0};

    if (!session)
        return;
    if (session_restart(session, language_of_json(request->json), &err) < 0)
        request_answer_error(request, &err);
    else
        request_answer_json(request, 200, api_session_json(session));
}

/* clang-format off */
const struct route api_session_routes[] = {
    {"POST", "/v1/sessions", open_session, .body = open_fields, .max_body = API_BODY_BYTES,
     .takes_key = true, .answers = "Session", .status = 201, .tag = "sessions",
     .summary = "open a session: a sandbox that stays, with its variables and files"},
    {"GET", "/v1/sessions", list_sessions, .query = list_fields, .answers = "Sessions", .status = 200, .tag = "sessions",
     .summary = "the caller's sessions; with `all`, everybody's, for operators"},
    {"GET", "/v1/sessions/{session}", show_session, .answers = "Session", .status = 200,
     .tag = "sessions", .summary = "one session, by its name or id"},
    {"DELETE", "/v1/sessions/{session}", close_session, .status = 204, .tag = "sessions",
     .summary = "end a session; its variables and files are gone; also for operators"},
    {"POST", "/v1/sessions/{session}/execute", execute, .body = cell_fields,
     .max_body = API_BODY_BYTES, .takes_files = true, .takes_key = true, .streams = true, .answers = "Result", .status = 200,
     .tag = "sessions", .summary = "run a cell; cells of one session run one after the other"},
    {"POST", "/v1/sessions/{session}/interrupt", interrupt, .body = nothing, .max_body = KIB,
     .answers = "Interrupted", .status = 200, .tag = "sessions",
     .summary = "stop the cell that runs, as Ctrl-C does; variables stay"},
    {"POST", "/v1/sessions/{session}/pause", pause_session, .body = nothing, .max_body = KIB,
     .answers = "Session", .status = 200, .tag = "sessions",
     .summary = "stop everything in the sandbox; memory and files stay, no CPU time is used"},
    {"POST", "/v1/sessions/{session}/resume", resume_session, .body = nothing, .max_body = KIB,
     .answers = "Session", .status = 200, .tag = "sessions",
     .summary = "let a paused session go on"},
    {"POST", "/v1/sessions/{session}/restart", restart, .body = restart_fields, .max_body = KIB,
     .answers = "Session", .status = 200, .tag = "sessions",
     .summary = "a fresh kernel of that language; variables are lost, files stay"},
    {0},
};
/* clang-format on */
