/* Theory of operation.
 *
 * A server has one wire at a time (upstream/wire.h). Opening it is a chain of requests of our
 * own, the chain (upstream/chain.c). Calls wait in a list until the chain is through, and
 * every request, ours and theirs, is an entry in one table by its id, with a clock.
 */
#include "upstream/upstream.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/share.h"
#include "upstream/internal.h"
#include "upstream/message.h"
#include "upstream/wire.h"

/* Between two starts of a server that crashes: none for the first time, then doubled up to the
 * last. */
#define BACKOFF_MS     500
#define BACKOFF_MAX_MS 60000

/* Calls in a row that were not answered in time, after which a server is taken for dead. */
#define SILENCES_MAX 3

/* Time that servers started as programs have to end when Belljar ends. */
#define PATIENCE_MS 200

#define NOT_SUPPORTED (-32601)

static int open_wire(struct upstream *u, struct error *err);

/* --- requests --- */

static struct upstream_request **find_request(struct upstream *u, uint64_t id)
{
    struct upstream_request **at = &u->requests;

    while (*at && (*at)->id != id)
        at = &(*at)->next;
    return at;
}

void upstream_request_free(struct upstream_request *request)
{
    struct upstream_request **at = find_request(request->upstream, request->id);

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
    json_t *meta = json_pack("{s:s, s:{}, s:{s:s, s:s}}", UPSTREAM_META "protocolVersion",
                             UPSTREAM_MODERN, UPSTREAM_META "clientCapabilities",
                             UPSTREAM_META "clientInfo", "name", "belljar", "version", "1");

    return json_object_set_new(params, "_meta", meta);
}

int upstream_post(struct upstream *u, const char *method, json_t *params, uint64_t id,
                  struct error *err)
{
    json_t *message = json_pack("{s:s, s:s}", "jsonrpc", "2.0", "method", method);
    int r = -1;

    if (!message || !params || (u->is_modern && id && add_meta(params) < 0) ||
        (json_object_size(params) && json_object_set(message, "params", params) < 0) ||
        (id && json_object_set_new(message, "id", json_integer((json_int_t)id)) < 0))
        (void)upstream_no_memory(err);
    else
        r = u->wire->ops->send(u->wire, message, id, err);
    json_decref(params);
    json_decref(message);
    return r;
}

struct upstream_request *upstream_request_new(struct upstream *u)
{
    struct upstream_request *request = calloc(1, sizeof(*request));

    if (!request)
        return NULL;
    request->upstream = u;
    request->id = ++u->last_id;
    request->next = u->requests;
    u->requests = request;
    return request;
}

/* Tells the server that nobody waits for an answer any more. */
static void withdraw(struct upstream_request *request)
{
    struct upstream *u = request->upstream;
    uint64_t id = request->id;

    upstream_request_free(request);
    if (!u->wire || u->failure.code != E_NONE)
        return;
    u->wire->ops->forget(u->wire, id);
    (void)upstream_post(
        u, "notifications/cancelled",
        json_pack("{s:I, s:s}", "requestId", (json_int_t)id, "reason", "not needed"), 0, NULL);
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
    LIST_REMOVE(call, link);
    u->n_calls--;
    loop_watch_free(call->clock);
    loop_watch_free(call->soon);
    json_decref(call->arguments);
    free(call->owner);
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
    error_hint(&err, "`timeout_s` of [servers.%s] sets how long a call may take", u->config->name);
    if (call->request) {
        withdraw(call->request);
        if (++u->silences >= SILENCES_MAX)
            upstream_break(u, &err);
    }
    answer(call, NULL, &err);
}

/* --- the end of a wire --- */

/* Those of the wire that has gone; what an answer makes somebody ask for is a newer one's. */
static struct upstream_call *find_doomed(const struct upstream *u, uint64_t start)
{
    struct upstream_call *call;

    LIST_FOREACH(call, &u->calls, link)
        if (call->start == start)
            return call;
    return NULL;
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
    u->state = UPSTREAM_IDLE;
    u->silences = 0;
    while (u->requests)
        upstream_request_free(u->requests);
    back_off(u);
    while ((call = find_doomed(u, start)))
        answer(call, NULL, &why);
    if (u->waiting && !u->wire)
        restart(u);
}

void upstream_break(struct upstream *u, const struct error *why)
{
    if (u->failure.code != E_NONE)
        return;
    error_copy(&u->failure, why);
    loop_timer_start(u->broken, 0);
}

/* --- what the server sends --- */

static void take_answer(struct upstream *u, const struct upstream_message *m,
                        const struct error *mistake)
{
    struct upstream_request *request = *find_request(u, m->id);
    struct upstream_call *call = request ? request->call : NULL;
    void (*on_result)(struct upstream *, const json_t *);
    void (*on_refused)(struct upstream *, const struct error *, int);

    if (!request)
        return; /* an answer to nothing, or to what was withdrawn */
    on_result = request->on_result;
    on_refused = request->on_refused;
    upstream_request_free(request);
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
    upstream_break(user, err);
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
    if (open(u->all->loop, u->all->resolver, u->config, &events, u, &u->wire, err) < 0)
        return error_wrap(err, "server `%s`", u->config->name);
    u->state = UPSTREAM_OPENING;
    upstream_chain_begin(u);
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
    call->request = upstream_request_new(u);
    if (call->request)
        call->request->call = call;
    else
        json_decref(params);
    if (!call->request || upstream_post(u, "tools/call", params, call->request->id, &err) < 0) {
        if (call->request)
            upstream_request_free(call->request);
        else
            (void)upstream_no_memory(&err);
        answer(call, NULL, &err);
    }
}

void upstream_pump(struct upstream *u)
{
    while (u->state == UPSTREAM_READY && u->failure.code == E_NONE && u->waiting) {
        struct upstream_call *call = u->waiting;

        if (u->is_stale) {
            upstream_chain_list(u);
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
        upstream_pump(call->upstream);
    else if (!call->tool)
        answer(call, call->upstream->description, NULL);
}

static struct upstream_call *add_call(struct upstream *u, const char *owner, const char *tool,
                                      const json_t *arguments, upstream_done done, void *user)
{
    struct upstream_call *call = calloc(1, sizeof(*call));
    struct upstream_call **last = &u->waiting;

    if (!call)
        return NULL;
    *call = (struct upstream_call){
        .upstream = u, .is_waiting = true, .start = u->n_starts, .done = done, .user = user};
    LIST_INSERT_HEAD(&u->calls, call, link);
    u->n_calls++;
    while (*last)
        last = &(*last)->next;
    *last = call;
    call->clock = loop_timer(u->all->loop, on_call_late, call);
    call->soon = loop_timer(u->all->loop, on_pump, call);
    call->owner = strdup(owner);
    call->tool = tool ? strdup(tool) : NULL;
    call->arguments = arguments ? json_incref((json_t *)arguments) : json_object();
    if (call->clock && call->soon && call->arguments && call->owner && !tool == !call->tool)
        return call;
    free_call(call);
    return NULL;
}

static int check_share(const struct upstream *u, const char *owner, struct error *err)
{
    struct share share = {.total = LIMIT_UPSTREAM_CALLS, .used = u->n_calls, .has_others = true};
    const struct upstream_call *call;

    LIST_FOREACH(call, &u->calls, link)
        share.own += strcmp(call->owner, owner) == 0;
    if (share_allows(&share, 1))
        return 0;
    error_set(err, E_BUSY, "%zu calls of server `%s` are under way, %zu of them yours", u->n_calls,
              u->config->name, (size_t)share.own);
    return error_hint(err, "wait for answers before you call again");
}

static struct upstream_call *start_call(struct upstream *u, const char *owner, const char *tool,
                                        const json_t *arguments, upstream_done done, void *user,
                                        struct error *err)
{
    struct upstream_call *call;

    owner = owner ? owner : "";
    if (check_share(u, owner, err) < 0)
        return NULL;
    if (!u->wire && open_wire(u, err) < 0)
        return NULL;
    call = add_call(u, owner, tool, arguments, done, user);
    if (!call) {
        (void)upstream_no_memory(err);
        return NULL;
    }
    if (u->failure.code != E_NONE) /* it is just being ended: the next one's */
        call->start++;
    loop_timer_start(call->clock, upstream_timeout_ms(u));
    if (u->state == UPSTREAM_READY)
        loop_timer_start(call->soon, 0); /* not from within the caller */
    return call;
}

/* --- the front door --- */

int upstreams_new(struct loop *loop, struct resolver *resolver, const struct config_server *servers,
                  size_t n, struct upstreams **ret_upstreams, struct error *err)
{
    struct upstreams *all = calloc(1, sizeof(*all) + n * sizeof(all->list[0]));

    if (!all)
        return upstream_no_memory(err);
    all->loop = loop;
    all->resolver = resolver;
    for (; all->n < n; all->n++) {
        struct upstream *u = &all->list[all->n];

        u->all = all;
        u->config = &servers[all->n];
        u->broken = loop_timer(loop, on_broken, u);
        if (!u->broken) {
            upstreams_free(all);
            return upstream_no_memory(err);
        }
    }
    *ret_upstreams = all;
    return 0;
}

static void done_upstream(struct upstream *u)
{
    while (u->requests)
        upstream_request_free(u->requests);
    while (!LIST_EMPTY(&u->calls))
        free_call(LIST_FIRST(&u->calls));
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
    const char *state = u->failure.code != E_NONE      ? "failed"
                        : u->state == UPSTREAM_READY   ? "ready"
                        : u->state == UPSTREAM_OPENING ? "starting"
                                                       : "idle";
    json_t *status =
        json_pack("{s:s, s:s, s:I, s:I, s:I}", "name", u->config->name, "state", state, "tools",
                  (json_int_t)json_array_size(json_object_get(u->description, "tools")), "calls",
                  (json_int_t)u->n_calls, "starts", (json_int_t)u->n_starts);

    if (u->failure.message)
        (void)json_object_set_new(status, "error", json_string(u->failure.message));
    return status;
}

const json_t *upstreams_tools(const struct upstreams *upstreams, size_t server)
{
    return json_object_get(upstreams->list[server].description, "tools");
}

const json_t *upstreams_tool(const struct upstreams *upstreams, size_t server, const char *tool)
{
    return upstream_tools_find(upstreams_tools(upstreams, server), tool);
}

struct upstream_call *upstreams_list(struct upstreams *upstreams, size_t server, const char *owner,
                                     upstream_done done, void *user, struct error *err)
{
    return start_call(&upstreams->list[server], owner, NULL, NULL, done, user, err);
}

struct upstream_call *upstreams_call(struct upstreams *upstreams, size_t server, const char *owner,
                                     const char *tool, const json_t *arguments, upstream_done done,
                                     void *user, struct error *err)
{
    return start_call(&upstreams->list[server], owner, tool, arguments, done, user, err);
}
