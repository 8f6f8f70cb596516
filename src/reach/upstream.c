/* Theory of operation.
 *
 * A server has one wire at a time (reach/upstream_wire.h). Opening it is a chain of requests of our
 * own: `initialize`, or where that is refused `server/discover` of the modern era; then tools/list,
 * page by page. Calls wait in a list until the chain is through, and every request, ours and
 * theirs, is an entry in one table by its id, with a clock.
 *
 * The legacy handshake comes first although it is the older one: every server there is answers to
 * it, with an error at least, while some of the old ones never answer to anything else before it.
 */
#include "reach/upstream.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/log.h"
#include "reach/upstream_message.h"
#include "reach/upstream_wire.h"

#define LEGACY_VERSION "2025-11-25"
#define MODERN_VERSION "2026-07-28"
#define META           "io.modelcontextprotocol/"

/* Between two starts of a server that crashes: none for the first time, then doubled up to the
 * last. */
#define BACKOFF_MS     500
#define BACKOFF_MAX_MS 60000

/* Calls in a row that were not answered in time, after which a server is taken for dead. */
#define SILENCES_MAX 3

/* Of programs, when we end. */
#define PATIENCE_MS 200

#define NOT_SUPPORTED    (-32601)
#define INSTRUCTIONS_MAX (8 * KIB)
#define TITLE_MAX        200
#define VERSION_MAX      32

enum state { STATE_IDLE, STATE_OPENING, STATE_READY };

struct upstream {
    struct upstreams *all;
    const struct config_server *config;
    enum state state;
    struct upstream_wire *wire;
    bool is_modern;
    bool is_stale;   /* the server said that its tools have changed */
    bool is_listing; /* the chain is at tools/list */
    unsigned n_pages;
    char version[VERSION_MAX];
    json_t *listed;      /* that is being filled */
    json_t *description; /* {"tools", "title", "instructions"}, or NULL */
    json_t *opening;     /* title and instructions, until the tools are there */
    struct request *requests;
    struct upstream_call *waiting; /* for the chain, in order */
    struct upstream_call *calls;   /* all, for counting and ending */
    size_t n_calls;
    uint64_t last_id;
    struct loop_watch *broken; /* runs the end of the wire outside of its own callbacks */
    struct error failure;      /* why; E_NONE: all is well */
    unsigned failures;         /* in a row */
    uint64_t not_before_ns;
    unsigned silences;
    uint64_t n_starts;
};

struct upstreams {
    struct loop *loop;
    size_t n;
    struct upstream list[];
};

/* Of ours, or on behalf of a call. */
struct request {
    struct upstream *upstream;
    struct request *next;
    uint64_t id;
    struct upstream_call *call; /* NULL: it is a link of the chain */
    void (*on_result)(struct upstream *u, const json_t *result);
    void (*on_refused)(struct upstream *u, const struct error *err, int code);
    struct loop_watch *clock; /* of a link */
};

struct upstream_call {
    struct upstream *upstream;
    struct upstream_call *before, *after; /* of all */
    struct upstream_call *next;           /* that waits, too */
    bool is_waiting;
    uint64_t start; /* of the server, that it belongs to */
    char *tool;     /* NULL: only the list is asked for */
    json_t *arguments;
    struct request *request;
    upstream_done done;
    void *user;
    struct loop_watch *clock;
    struct loop_watch *soon; /* an answer that is there already */
};

static void pump(struct upstream *u);
static void break_wire(struct upstream *u, const struct error *why);
static int open_wire(struct upstream *u, struct error *err);

static int no_memory(struct error *err)
{
    return error_set(err, E_SYSTEM, "out of memory");
}

static uint64_t timeout_ms(const struct upstream *u)
{
    return (uint64_t)(u->config->timeout_s * 1000);
}

/* --- requests --- */

static struct request **find_request(struct upstream *u, uint64_t id)
{
    struct request **at = &u->requests;

    while (*at && (*at)->id != id)
        at = &(*at)->next;
    return at;
}

static void free_request(struct request *request)
{
    struct request **at = find_request(request->upstream, request->id);

    if (*at == request)
        *at = request->next;
    if (request->call)
        request->call->request = NULL;
    loop_watch_free(request->clock);
    free(request);
}

/* In the modern era every request says who we are and what we can. */
static int add_meta(json_t *params)
{
    json_t *meta =
        json_pack("{s:s, s:{}, s:{s:s, s:s}}", META "protocolVersion", MODERN_VERSION,
                  META "clientCapabilities", META "clientInfo", "name", "belljar", "version", "1");

    return json_object_set_new(params, "_meta", meta);
}

/* `params` is taken over. */
static int post(struct upstream *u, const char *method, json_t *params, uint64_t id,
                struct error *err)
{
    json_t *message = json_pack("{s:s, s:s}", "jsonrpc", "2.0", "method", method);
    int r = -1;

    if (!message || !params || (u->is_modern && id && add_meta(params) < 0) ||
        (json_object_size(params) && json_object_set(message, "params", params) < 0) ||
        (id && json_object_set_new(message, "id", json_integer((json_int_t)id)) < 0))
        (void)no_memory(err);
    else
        r = u->wire->ops->send(u->wire, message, id, err);
    json_decref(params);
    json_decref(message);
    return r;
}

static struct request *new_request(struct upstream *u)
{
    struct request *request = calloc(1, sizeof(*request));

    if (!request)
        return NULL;
    request->upstream = u;
    request->id = ++u->last_id;
    request->next = u->requests;
    u->requests = request;
    return request;
}

/* Tells the server that nobody waits for an answer any more. */
static void withdraw(struct request *request)
{
    struct upstream *u = request->upstream;
    uint64_t id = request->id;

    free_request(request);
    if (!u->wire || u->failure.code != E_NONE)
        return;
    u->wire->ops->forget(u->wire, id);
    (void)post(u, "notifications/cancelled",
               json_pack("{s:I, s:s}", "requestId", (json_int_t)id, "reason", "not needed"), 0,
               NULL);
}

/* --- calls --- */

static void free_call(struct upstream_call *call)
{
    struct upstream *u = call->upstream;

    for (struct upstream_call **at = &u->waiting; *at; at = &(*at)->next) {
        if (*at == call) {
            *at = call->next;
            break;
        }
    }
    *(call->before ? &call->before->after : &u->calls) = call->after;
    if (call->after)
        call->after->before = call->before;
    u->n_calls--;
    loop_watch_free(call->clock);
    loop_watch_free(call->soon);
    json_decref(call->arguments);
    free(call->tool);
    free(call);
}

static void answer(struct upstream_call *call, const json_t *value, const struct error *err)
{
    upstream_done done = call->done;
    void *user = call->user;

    free_call(call);
    done(user, value, err);
}

void upstream_call_cancel(struct upstream_call *call)
{
    if (call->request)
        withdraw(call->request);
    free_call(call);
}

static void on_call_late(void *arg)
{
    struct upstream_call *call = arg;
    struct upstream *u = call->upstream;
    cleanup_error struct error err = {0};

    error_set(&err, E_BUSY, "server `%s` did not answer within %.0f seconds", u->config->name,
              u->config->timeout_s);
    error_hint(&err, "`timeout_s` of [servers.%s] is how long a call may take", u->config->name);
    if (call->request) {
        withdraw(call->request);
        if (++u->silences >= SILENCES_MAX)
            break_wire(u, &err);
    }
    answer(call, NULL, &err);
}

/* --- the end of a wire --- */

/* Those of the wire that has gone; what an answer makes somebody ask for is a newer one's. */
static struct upstream_call *find_doomed(const struct upstream *u, uint64_t start)
{
    struct upstream_call *call = u->calls;

    while (call && call->start != start)
        call = call->after;
    return call;
}

/* When it may be started again. */
static void back_off(struct upstream *u)
{
    uint64_t wait_ms = 0;

    if (u->failures++) {
        unsigned times = u->failures - 2 < 8 ? u->failures - 2 : 8;

        wait_ms = (uint64_t)BACKOFF_MS << times;
        wait_ms = wait_ms < BACKOFF_MAX_MS ? wait_ms : BACKOFF_MAX_MS;
    }
    u->not_before_ns = loop_now_ns() + wait_ms * 1000000;
    LOG_EVENT(LOG_WARNING, "server_failed", {.key = "server", .text = u->config->name},
              {.key = "error", .text = u->failure.message},
              {.key = "wait_ms", .number = (double)wait_ms});
}

/* For those that asked while it was being ended. */
static void restart(struct upstream *u)
{
    cleanup_error struct error err = {0};

    if (open_wire(u, &err) == 0)
        return;
    while (u->waiting)
        answer(u->waiting, NULL, &err);
}

static void on_broken(void *arg)
{
    struct upstream *u = arg;
    cleanup_error struct error why = {0};
    uint64_t start = u->n_starts;
    struct upstream_call *call;

    error_copy(&why, &u->failure);
    u->wire->ops->free(u->wire);
    u->wire = NULL;
    u->state = STATE_IDLE;
    u->silences = 0;
    while (u->requests)
        free_request(u->requests);
    back_off(u);
    while ((call = find_doomed(u, start)))
        answer(call, NULL, &why);
    if (u->waiting && !u->wire)
        restart(u);
}

static void break_wire(struct upstream *u, const struct error *why)
{
    if (u->failure.code != E_NONE)
        return;
    error_copy(&u->failure, why);
    loop_timer_start(u->broken, 0);
}

/* --- the chain: opening, and the list of tools --- */

static void fail_chain(struct upstream *u, const char *what, const struct error *cause)
{
    cleanup_error struct error err = {0};

    error_copy(&err, cause);
    error_wrap(&err, "server `%s`: %s", u->config->name, what);
    break_wire(u, &err);
}

static void on_link_late(void *arg)
{
    struct request *request = arg;
    struct upstream *u = request->upstream;
    cleanup_error struct error err = {0};

    error_set(&err, E_BUSY, "no answer within %.0f seconds", u->config->timeout_s);
    free_request(request);
    fail_chain(u, "start", &err);
}

static void refuse_link(struct upstream *u, const struct error *err, int code)
{
    (void)code;
    fail_chain(u, u->is_listing ? "tools/list" : "start", err);
}

static void send_link(struct upstream *u, const char *method, json_t *params,
                      void (*on_result)(struct upstream *u, const json_t *result),
                      void (*on_refused)(struct upstream *u, const struct error *err, int code))
{
    cleanup_error struct error err = {0};
    struct request *request = new_request(u);

    if (request)
        request->clock = loop_timer(u->all->loop, on_link_late, request);
    if (!request || !request->clock) {
        json_decref(params);
        (void)no_memory(&err);
        fail_chain(u, "start", &err);
        return;
    }
    request->on_result = on_result;
    request->on_refused = on_refused;
    loop_timer_start(request->clock, timeout_ms(u));
    if (post(u, method, params, request->id, &err) < 0)
        fail_chain(u, "start", &err);
}

static void on_page(struct upstream *u, const json_t *result);

static void finish_list(struct upstream *u)
{
    json_decref(u->description);
    u->description = u->opening ? json_copy(u->opening) : json_object();
    if (json_object_set(u->description, "tools", u->listed) < 0) {
        cleanup_error struct error err = {0};

        (void)no_memory(&err);
        break_wire(u, &err);
    }
    json_decref(u->listed);
    u->listed = NULL;
    u->is_listing = false;
    u->state = STATE_READY;
    pump(u);
}

static void on_page(struct upstream *u, const json_t *result)
{
    cleanup_error struct error err = {0};
    const char *cursor = upstream_tools_next(result);
    int left_out = upstream_tools_add(u->listed, result, &err);

    if (left_out < 0) {
        fail_chain(u, "tools/list", &err);
        return;
    }
    if (left_out)
        LOG_EVENT(LOG_WARNING, "server_tools_left_out", {.key = "server", .text = u->config->name},
                  {.key = "count", .number = left_out});
    if (!cursor || ++u->n_pages >= LIMIT_UPSTREAM_PAGES ||
        json_array_size(u->listed) >= LIMIT_UPSTREAM_TOOLS)
        finish_list(u);
    else
        send_link(u, "tools/list", json_pack("{s:s}", "cursor", cursor), on_page, refuse_link);
}

static void list_tools(struct upstream *u)
{
    cleanup_error struct error err = {0};

    u->state = STATE_OPENING;
    u->is_stale = false;
    u->is_listing = true;
    u->n_pages = 0;
    json_decref(u->listed);
    u->listed = json_array();
    if (u->listed) {
        send_link(u, "tools/list", json_object(), on_page, refuse_link);
        return;
    }
    (void)no_memory(&err);
    fail_chain(u, "start", &err);
}

/* What the server says of itself, for people. */
static void keep_opening(struct upstream *u, const json_t *result, const json_t *info)
{
    const json_t *words = json_object_get(result, "instructions");
    const json_t *title = json_object_get(info, "title");

    if (!title)
        title = json_object_get(info, "name");
    json_decref(u->opening);
    u->opening = json_object();
    if (json_is_string(words))
        (void)json_object_set_new(u->opening, "instructions",
                                  upstream_text(words, INSTRUCTIONS_MAX));
    if (json_is_string(title))
        (void)json_object_set_new(u->opening, "title", upstream_text(title, TITLE_MAX));
}

static void on_discovered(struct upstream *u, const json_t *result)
{
    const json_t *meta = json_object_get(result, "_meta");

    keep_opening(u, result, json_object_get(meta, META "serverInfo"));
    list_tools(u);
}

static void discover(struct upstream *u)
{
    u->is_modern = u->wire->is_modern = true;
    u->wire->version = MODERN_VERSION;
    send_link(u, "server/discover", json_object(), on_discovered, refuse_link);
}

static void on_initialized(struct upstream *u, const json_t *result)
{
    const char *version = json_string_value(json_object_get(result, "protocolVersion"));
    cleanup_error struct error err = {0};

    if (!version || strlen(version) != strlen(LEGACY_VERSION) ||
        strspn(version, "0123456789-") != strlen(version)) {
        error_set(&err, E_PROTOCOL, "its answer names no version of the protocol");
        fail_chain(u, "start", &err);
        return;
    }
    (void)snprintf(u->version, sizeof(u->version), "%s", version);
    u->wire->version = u->version;
    keep_opening(u, result, json_object_get(result, "serverInfo"));
    if (post(u, "notifications/initialized", json_object(), 0, &err) < 0) {
        fail_chain(u, "start", &err);
        return;
    }
    list_tools(u);
}

/* A server that has left the handshake behind. */
static void on_handshake_refused(struct upstream *u, const struct error *err, int code)
{
    if (u->config->era == CONFIG_ERA_AUTO && code != 0)
        discover(u);
    else
        refuse_link(u, err, code);
}

static void begin_chain(struct upstream *u)
{
    u->is_listing = false;
    if (u->config->era == CONFIG_ERA_MODERN) {
        discover(u);
        return;
    }
    u->is_modern = u->wire->is_modern = false;
    u->wire->version = NULL;
    send_link(u, "initialize",
              json_pack("{s:s, s:{}, s:{s:s, s:s}}", "protocolVersion", LEGACY_VERSION,
                        "capabilities", "clientInfo", "name", "belljar", "version", "1"),
              on_initialized, on_handshake_refused);
}

/* --- what the server sends --- */

static void take_answer(struct upstream *u, const struct upstream_message *m,
                        const struct error *mistake)
{
    struct request *request = *find_request(u, m->id);
    struct upstream_call *call = request ? request->call : NULL;
    void (*on_result)(struct upstream *, const json_t *);
    void (*on_refused)(struct upstream *, const struct error *, int);

    if (!request)
        return; /* an answer to nothing, or to what was withdrawn */
    on_result = request->on_result;
    on_refused = request->on_refused;
    free_request(request);
    u->silences = 0;
    if (call && m->kind == UPSTREAM_RESULT) {
        cleanup_error struct error err = {0};
        json_t *value = upstream_result(m->result, &err);

        u->failures = 0;
        answer(call, value, value ? NULL : &err);
        json_decref(value);
    } else if (call) {
        answer(call, NULL, mistake);
    } else if (m->kind == UPSTREAM_RESULT) {
        on_result(u, m->result);
    } else {
        on_refused(u, mistake, m->code);
    }
}

/* Of the legacy era: is anybody there, and things that we do not offer. */
static void take_request(struct upstream *u, const struct upstream_message *m)
{
    json_t *message = json_pack("{s:s, s:O}", "jsonrpc", "2.0", "id", (json_t *)m->asked);

    if (strcmp(m->method, "ping") == 0)
        (void)json_object_set_new(message, "result", json_object());
    else
        (void)json_object_set_new(message, "error",
                                  json_pack("{s:i, s:s}", "code", NOT_SUPPORTED, "message",
                                            "not offered by this client"));
    if (message)
        (void)u->wire->ops->send(u->wire, message, 0, NULL);
    json_decref(message);
}

static void on_message(void *user, const json_t *message)
{
    struct upstream *u = user;
    cleanup_error struct error mistake = {0};
    struct upstream_message m = upstream_message_read(message, &mistake);

    if (u->failure.code != E_NONE)
        return;
    if (m.kind == UPSTREAM_RESULT || m.kind == UPSTREAM_ERROR)
        take_answer(u, &m, &mistake);
    else if (m.kind == UPSTREAM_REQUEST && !u->is_modern)
        take_request(u, &m);
    else if (m.kind == UPSTREAM_NOTICE && strcmp(m.method, "notifications/tools/list_changed") == 0)
        u->is_stale = true;
}

static void on_lost(void *user, uint64_t id, const struct error *err)
{
    const struct upstream_message m = {.kind = UPSTREAM_ERROR, .id = id};

    take_answer(user, &m, err);
}

static void on_end(void *user, const struct error *err)
{
    break_wire(user, err);
}

/* --- opening and sending --- */

static int open_wire(struct upstream *u, struct error *err)
{
    static const struct upstream_events events = {on_message, on_lost, on_end};
    __typeof__(&upstream_stdio_open) open = u->config->url         ? upstream_http_open
                                            : u->config->functions ? upstream_host_open
                                                                   : upstream_stdio_open;

    if (loop_now_ns() < u->not_before_ns) {
        error_copy(err, &u->failure);
        return error_hint(err, "it failed %u times in a row and is tried again in %.1f seconds",
                          u->failures, (double)(u->not_before_ns - loop_now_ns()) / 1e9);
    }
    error_done(&u->failure);
    u->n_starts++;
    if (open(u->all->loop, u->config, &events, u, &u->wire, err) < 0)
        return error_wrap(err, "server `%s`", u->config->name);
    u->state = STATE_OPENING;
    begin_chain(u);
    return 0;
}

static void send_call(struct upstream *u, struct upstream_call *call)
{
    cleanup_error struct error err = {0};
    json_t *params;

    call->is_waiting = false;
    if (!call->tool) {
        loop_timer_start(call->soon, 0);
        return;
    }
    if (!upstream_tools_find(json_object_get(u->description, "tools"), call->tool)) {
        error_set(&err, E_NOT_FOUND, "server `%s` has no tool `%s`", u->config->name, call->tool);
        answer(call, NULL, &err);
        return;
    }
    params = json_pack("{s:s, s:O}", "name", call->tool, "arguments", call->arguments);
    call->request = new_request(u);
    if (call->request)
        call->request->call = call;
    else
        json_decref(params);
    if (!call->request || post(u, "tools/call", params, call->request->id, &err) < 0) {
        if (call->request)
            free_request(call->request);
        else
            (void)no_memory(&err);
        answer(call, NULL, &err);
    }
}

/* Sends what waited, once the server is ready. */
static void pump(struct upstream *u)
{
    while (u->state == STATE_READY && u->failure.code == E_NONE && u->waiting) {
        struct upstream_call *call = u->waiting;

        if (u->is_stale) {
            list_tools(u);
            return;
        }
        u->waiting = call->next;
        call->next = NULL;
        send_call(u, call);
    }
}

static void on_pump(void *arg)
{
    struct upstream_call *call = arg;

    if (call->is_waiting)
        pump(call->upstream);
    else if (!call->tool)
        answer(call, call->upstream->description, NULL);
}

static struct upstream_call *add_call(struct upstream *u, const char *tool, const json_t *arguments,
                                      upstream_done done, void *user)
{
    struct upstream_call *call = calloc(1, sizeof(*call));
    struct upstream_call **last = &u->waiting;

    if (!call)
        return NULL;
    *call = (struct upstream_call){.upstream = u,
                                   .after = u->calls,
                                   .is_waiting = true,
                                   .start = u->n_starts,
                                   .done = done,
                                   .user = user};
    if (u->calls)
        u->calls->before = call;
    u->calls = call;
    u->n_calls++;
    while (*last)
        last = &(*last)->next;
    *last = call;
    call->clock = loop_timer(u->all->loop, on_call_late, call);
    call->soon = loop_timer(u->all->loop, on_pump, call);
    call->tool = tool ? strdup(tool) : NULL;
    call->arguments = arguments ? json_incref((json_t *)arguments) : json_object();
    if (call->clock && call->soon && call->arguments && !tool == !call->tool)
        return call;
    free_call(call);
    return NULL;
}

static struct upstream_call *start_call(struct upstream *u, const char *tool,
                                        const json_t *arguments, upstream_done done, void *user,
                                        struct error *err)
{
    struct upstream_call *call;

    if (u->n_calls >= LIMIT_UPSTREAM_CALLS) {
        error_set(err, E_BUSY, "%zu calls of server `%s` are under way", u->n_calls,
                  u->config->name);
        return NULL;
    }
    if (!u->wire && open_wire(u, err) < 0)
        return NULL;
    call = add_call(u, tool, arguments, done, user);
    if (!call) {
        (void)no_memory(err);
        return NULL;
    }
    if (u->failure.code != E_NONE) /* it is just being ended: the next one's */
        call->start++;
    loop_timer_start(call->clock, timeout_ms(u));
    if (u->state == STATE_READY)
        loop_timer_start(call->soon, 0); /* not from within the caller */
    return call;
}

/* --- the front door --- */

int upstreams_new(struct loop *loop, const struct config_server *servers, size_t n,
                  struct upstreams **ret_upstreams, struct error *err)
{
    struct upstreams *all = calloc(1, sizeof(*all) + n * sizeof(all->list[0]));

    if (!all)
        return no_memory(err);
    all->loop = loop;
    for (; all->n < n; all->n++) {
        struct upstream *u = &all->list[all->n];

        u->all = all;
        u->config = &servers[all->n];
        u->broken = loop_timer(loop, on_broken, u);
        if (!u->broken) {
            upstreams_free(all);
            return no_memory(err);
        }
    }
    *ret_upstreams = all;
    return 0;
}

static void done_upstream(struct upstream *u)
{
    while (u->requests)
        free_request(u->requests);
    while (u->calls)
        free_call(u->calls);
    if (u->wire) {
        u->wire->patience_ms = PATIENCE_MS;
        u->wire->ops->free(u->wire);
    }
    loop_watch_free(u->broken);
    json_decref(u->listed);
    json_decref(u->description);
    json_decref(u->opening);
    error_done(&u->failure);
}

void upstreams_free(struct upstreams *upstreams)
{
    if (!upstreams)
        return;
    for (size_t i = 0; i < upstreams->n; i++)
        done_upstream(&upstreams->list[i]);
    free(upstreams);
}

size_t upstreams_count(const struct upstreams *upstreams)
{
    return upstreams ? upstreams->n : 0;
}

const struct config_server *upstreams_at(const struct upstreams *upstreams, size_t i)
{
    return upstreams->list[i].config;
}

int upstreams_find(const struct upstreams *upstreams, const char *name)
{
    for (size_t i = 0; i < upstreams_count(upstreams); i++)
        if (strcmp(upstreams->list[i].config->name, name) == 0)
            return (int)i;
    return -1;
}

json_t *upstreams_status(const struct upstreams *upstreams, size_t i)
{
    const struct upstream *u = &upstreams->list[i];
    const char *state = u->failure.code != E_NONE   ? "failed"
                        : u->state == STATE_READY   ? "ready"
                        : u->state == STATE_OPENING ? "starting"
                                                    : "idle";
    json_t *status =
        json_pack("{s:s, s:s, s:I, s:I, s:I}", "name", u->config->name, "state", state, "tools",
                  (json_int_t)json_array_size(json_object_get(u->description, "tools")), "calls",
                  (json_int_t)u->n_calls, "starts", (json_int_t)u->n_starts);

    if (u->failure.message)
        (void)json_object_set_new(status, "error", json_string(u->failure.message));
    return status;
}

const json_t *upstreams_tool(const struct upstreams *upstreams, size_t server, const char *tool)
{
    return upstream_tools_find(json_object_get(upstreams->list[server].description, "tools"), tool);
}

struct upstream_call *upstreams_list(struct upstreams *upstreams, size_t server, upstream_done done,
                                     void *user, struct error *err)
{
    return start_call(&upstreams->list[server], NULL, NULL, done, user, err);
}

struct upstream_call *upstreams_call(struct upstreams *upstreams, size_t server, const char *tool,
                                     const json_t *arguments, upstream_done done, void *user,
                                     struct error *err)
{
    return start_call(&upstreams->list[server], tool, arguments, done, user, err);
}
