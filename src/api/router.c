#include "api/router.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "admit/access.h"
#include "admit/page_tokens.h"
#include "api/api.h"
#include "api/attachments.h"
#include "api/credential.h"
#include "api/fingerprint.h"
#include "api/form.h"
#include "api/host_name.h"
#include "api/store_read.h"
#include "base/cleanup.h"
#include "base/hex.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/task.h"
#include "http/multipart.h"

#define BODY_DEPTH 32

/* Between two lines of the log about refused tokens. */
#define AUTH_LOG_NS UINT64_C(1000000000)

static int refuse(struct request *request, int status, const char *headers, struct error *err)
{
    request_answer_error_as(request, status, headers, err);
    return -1;
}

/* --- who is asked, and by which page --- */

/* A name without its port. */
static struct span without_port(struct span host)
{
    const char *colon = memrchr(host.data, ':', host.len);
    const char *bracket = memrchr(host.data, ']', host.len);

    if (colon && (!bracket || colon > bracket))
        host.len = (size_t)(colon - host.data);
    return host;
}

static bool is_in(const struct config_list *list, struct span text)
{
    for (size_t i = 0; i < list->count; i++)
        if (span_is_nocase(text, list->items[i]))
            return true;
    return false;
}

/* A page of another site can make a browser call us under that site's name (DNS rebinding), but not
 * under ours. */
static int check_host(const struct router *router, struct request *request, struct error *err)
{
    static const char *const ours[] = {"localhost", "127.0.0.1", "[::1]"};
    struct span host = without_port(request_header(request, "host"));
    struct host_name name;

    if (!request->service && host_name_read(router->config, host, &name))
        return host_name_apply(request, &name, err);
    if (request->is_unix)
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
        if (span_is_nocase(host, ours[i]))
            return request->service ? host_name_apply_service(request, err) : 0;
    if (!request->service && is_in(&router->config->hosts, host))
        return 0;
    error_set(err, E_DENIED, "the Host header does not name this server");
    return error_hint(err, "the operator lists further names as `hosts`");
}

/* A page of ours: what it was loaded from is what it calls, under a name that has been checked. */
static bool is_own(const struct request *request, struct span origin)
{
    struct span host = request_header(request, "host"), rest = origin;
    const char *slashes = memmem(origin.data, origin.len, "://", 3);

    if (!slashes || request->is_unix)
        return false;
    rest.data = slashes + 3;
    rest.len = origin.len - (size_t)(rest.data - origin.data);
    return (strncasecmp(origin.data, "http://", 7) == 0 ||
            strncasecmp(origin.data, "https://", 8) == 0) &&
           rest.len == host.len && strncasecmp(rest.data, host.data, host.len) == 0;
}

/* "http://localhost:6274", with or without the port: a page that a program of this machine serves.
 */
static bool is_local(struct span origin)
{
    static const char *const names[] = {"http://localhost",  "http://127.0.0.1",  "http://[::1]",
                                        "https://localhost", "https://127.0.0.1", "https://[::1]"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        size_t len = strlen(names[i]), digits;

        if (origin.len < len || strncasecmp(origin.data, names[i], len) != 0)
            continue;
        if (origin.len == len)
            return true;
        digits = origin.len - len - 1;
        if (origin.data[len] != ':' || !digits || digits > 5)
            continue;
        for (len++; len < origin.len && isdigit((unsigned char)origin.data[len]); len++)
            continue;
        if (len == origin.len)
            return true;
    }
    return false;
}

/* MCP clients that are web pages, such as inspectors, run on this machine under a port of their
 * own. They come with a token, which no other page has. What a browser asks beforehand has none
 * yet. */
static bool is_local_client(const struct router *router, const struct request *request,
                            struct span origin)
{
    static const char *const paths[] = {"/mcp", "/sse", "/messages"};
    bool has_token = request_header(request, "authorization").data != NULL;
    bool is_mcp = false;

    for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
        is_mcp |= span_is(request->head.path, paths[i]);
    return is_mcp && !request->is_unix && auth_needs_token(router->api->auth) && is_local(origin) &&
           (has_token || (span_is(request->head.method, "OPTIONS") &&
                          request_header(request, "access-control-request-method").data));
}

/* HTML of programs is shown in frames without an origin, which load a sheet of the console. These
 * files are the same for everybody, and other pages cannot read them. */
static bool is_for_a_frame(const struct request *request, struct span origin)
{
    static const char folder[] = "/console/";
    struct span path = request->head.path;

    return span_is(origin, "null") && span_is(request->head.method, "GET") &&
           path.len > sizeof(folder) - 1 && memcmp(path.data, folder, sizeof(folder) - 1) == 0;
}

static int check_origin(const struct router *router, struct request *request, struct error *err)
{
    struct span origin = request_header(request, "origin");

    request->is_cors = origin.data && (is_in(&router->config->origins, origin) ||
                                       is_local_client(router, request, origin));
    if (!origin.data || request->is_cors || is_own(request, origin) ||
        is_for_a_frame(request, origin))
        return 0;
    error_set(err, E_DENIED, "requests from web pages of that origin are refused");
    return error_hint(err, "the operator lists permitted ones as `origins`");
}

/* --- which row --- */

static size_t segment_len(const char *text, size_t len)
{
    const char *slash = memchr(text, '/', len);

    return slash ? (size_t)(slash - text) : len;
}

/* Takes one {name}, or all that is left for {name...}. */
static int take_param(struct request *request, size_t *count, struct span text)
{
    char *value = malloc(text.len + 1);

    if (!value || *count == REQUEST_PARAMS_MAX) {
        free(value);
        return -1;
    }
    (void)schema_decode(text, false, value);
    request->params[(*count)++] = value;
    return 0;
}

static void forget_params(struct request *request)
{
    for (size_t i = 0; i < REQUEST_PARAMS_MAX; i++) {
        free(request->params[i]);
        request->params[i] = NULL;
    }
}

static bool matches(const struct route *route, struct request *request)
{
    const char *pattern = route->path, *path = request->head.path.data;
    size_t p_left = strlen(pattern), left = request->head.path.len, count = 0;

    forget_params(request);
    while (p_left && left) {
        size_t p_len, len;

        if (*pattern != '/' || *path != '/')
            return false;
        p_len = segment_len(pattern + 1, p_left - 1);
        len = segment_len(path + 1, left - 1);
        if (p_len > 5 && memcmp(pattern + 1 + p_len - 4, "...}", 4) == 0)
            return left > 1 && take_param(request, &count, (struct span){path + 1, left - 1}) == 0;
        if (pattern[1] == '{') {
            if (len == 0 || take_param(request, &count, (struct span){path + 1, len}) < 0)
                return false;
        } else if (p_len != len || memcmp(pattern + 1, path + 1, len) != 0) {
            return false;
        }
        pattern += p_len + 1;
        p_left -= p_len + 1;
        path += len + 1;
        left -= len + 1;
    }
    return p_left == 0 && left == 0;
}

/* Sets request->route, or says which methods the path has. */
static void find_route(const struct router *router, struct request *request, struct buf *allow)
{
    for (const struct route *const *table = router->tables; *table; table++)
        for (const struct route *r = *table; r->method; r++) {
            if (!matches(r, request))
                continue;
            if (span_is(request->head.method, r->method)) {
                request->route = r;
                return;
            }
            if (!memmem(buf_str(allow), allow->len, r->method, strlen(r->method)))
                (void)buf_printf(allow, NULL, "%s%s", allow->len ? ", " : "Allow: ", r->method);
        }
}

/* A browser asks before it sends for a page (CORS): it carries no token yet. `allow`: the methods
 * of the path. */
static int answer_preflight(struct request *request, const char *allow)
{
    char headers[512];

    (void)snprintf(
        headers, sizeof(headers),
        "Access-Control-Allow-Methods: %s\r\n"
        "Access-Control-Allow-Headers: Authorization, Content-Type, Idempotency-Key, "
        "Last-Event-ID, Mcp-Method, Mcp-Name, MCP-Protocol-Version, Mcp-Session-Id, Range, "
        "Traceparent\r\nAccess-Control-Max-Age: 600\r\n",
        allow);
    request_begin(request, 204, NULL, headers, 0);
    request_end(request);
    return -1;
}

static int pick_route(const struct router *router, struct request *request)
{
    cleanup(buf_done) struct buf allow = BUF_OF(256);
    struct error err = {0};

    find_route(router, request, &allow);
    if (request->route) {
        request->on_error = request->route->on_error;
        return 0;
    }
    if (!allow.len) {
        error_set(&err, E_NOT_FOUND, "there is nothing at this path");
        error_hint(&err, "/openapi.json lists all routes");
        return refuse(request, 404, NULL, &err);
    }
    if (request->is_cors && span_is(request->head.method, "OPTIONS") &&
        request_header(request, "access-control-request-method").data)
        return answer_preflight(request, buf_str(&allow) + strlen("Allow: "));
    error_set(&err, E_INVALID, "this path does not support the method %.*s",
              (int)request->head.method.len, request->head.method.data);
    error_hint(&err, "use %s", buf_str(&allow) + strlen("Allow: "));
    (void)buf_add_str(&allow, "\r\n", NULL);
    return refuse(request, 405, buf_str(&allow), &err);
}

/* --- who asks --- */

/* A header that names the place where it is written down where tokens come from (RFC 9728), or NULL
 * where nothing is. */
static const char *where_tokens_are(const struct config *config, char *text, size_t size)
{
    const char *url = config->mcp_resource, *host = strstr(url, "://");
    size_t base = host ? (size_t)(host - url) + 3 + strcspn(host + 3, "/") : 0;
    int n;

    if (!config->authorization_servers.count || !base || strpbrk(url, "\"\r\n"))
        return NULL;
    n = snprintf(text, size,
                 "WWW-Authenticate: Bearer realm=\"belljar\", resource_metadata=\"%.*s"
                 "/.well-known/oauth-protected-resource%s\"\r\n",
                 (int)base, url, url + base);
    return n > 0 && (size_t)n < size ? text : NULL;
}

/* One line a second at most: anybody can send wrong tokens. */
static void log_refused_token(struct router *router, const struct request *request,
                              const struct error *err)
{
    uint64_t now = loop_now_ns();
    char peer[64];

    if (router->auth_logged_ns && now - router->auth_logged_ns < AUTH_LOG_NS) {
        router->auth_unlogged++;
        return;
    }
    request_peer(request, peer, sizeof(peer));
    LOG_EVENT(LOG_WARNING, "auth", {"peer", peer}, {"message", error_message(err)},
              {"more", .number = router->auth_unlogged, .is_left_out = !router->auth_unlogged});
    router->auth_logged_ns = now;
    router->auth_unlogged = 0;
}

static int authenticate(struct router *router, struct request *request)
{
    const struct route *route = request->route;
    char header_text[512];
    struct error err = {0};
    int r = route->identify ? route->identify(request, &request->caller, &err)
                            : credential_identify(request, &request->caller, &err);

    if (r > 0)
        return -1;
    if (r < 0) {
        router->metrics->refusals[METRICS_AUTH]++;
        log_refused_token(router, request, &err);
        return refuse(request, error_code_http(err.code),
                      where_tokens_are(router->config, header_text, sizeof(header_text)), &err);
    }
    (void)snprintf(request->owner, sizeof(request->owner), "%s", request->caller->name);
    request->generation = request->caller->generation;
    request->account = &request->caller->requests;
    if (request->route->access == ROUTE_OPERATOR &&
        access_check_operator(router->recorder, request->caller, &err) < 0) {
        router->metrics->refusals[METRICS_OPERATOR]++;
        return refuse(request, 403, NULL, &err);
    }
    return 0;
}

/* A connection has one request at a time. Those that rest are not counted: they make room for
 * others by themselves. */
static int count_request(const struct router *router, struct request *request)
{
    struct caller *caller = request->caller;
    struct error err = {0};

    if (caller->n_requests < router->max_per_caller) {
        caller->n_requests++;
        request->counted = &caller->n_requests;
        return 0;
    }
    router->metrics->refusals[METRICS_CONNECTIONS]++;
    error_set(&err, E_BUSY, "this token already has %zu requests in progress, which is the limit",
              router->max_per_caller);
    error_hint(&err, "wait for some of them; the operator sets `http_connections_per_token`");
    return refuse(request, 429, NULL, &err);
}

/* --- what comes with it --- */

/* Whether a `Content-Type` names that type, whatever its parameters. */
static bool is_type(struct span header, const char *type)
{
    header.len = span_until(header, "; \t");
    return span_is_nocase(header, type);
}

static bool is_form(const struct request *request)
{
    return request->route->takes_files &&
           multipart_is_type(request_header(request, "content-type"));
}

/* Some clients name no type, and mean JSON where nothing else is known. */
static bool is_taken(const struct request *request)
{
    const char *other = request->route->body_type;
    struct span type = request_header(request, "content-type");

    if (!type.data)
        return request->route->reads_body;
    if (is_type(type, "application/json") || is_form(request))
        return true;
    return other && (strcmp(other, ROUTE_ANY_TYPE) == 0 || is_type(type, other));
}

static int check_body(struct request *request)
{
    const struct route *route = request->route;
    struct error err = {0};

    if (request->head.framing == HTTP_NO_BODY)
        return 0;
    if (!route->body && !route->begin) {
        error_set(&err, E_INVALID, "this request takes no body");
        return refuse(request, 400, NULL, &err);
    }
    if (route->body && !is_taken(request)) {
        error_set(&err, E_INVALID, "the body must be JSON");
        error_hint(&err, "send it with `Content-Type: application/json`");
        return refuse(request, 415, NULL, &err);
    }
    if (!route->takes_encodings && request_header(request, "content-encoding").data) {
        error_set(&err, E_INVALID, "a body with a content encoding is not supported");
        return refuse(request, 415, NULL, &err);
    }
    return 0;
}

/* A key that would be ignored is a promise broken. */
static int check_key(struct request *request)
{
    struct error err = {0};

    if (request->route->takes_key || !request_header(request, "idempotency-key").data ||
        !span_is(request->head.method, "POST"))
        return 0;
    error_set(&err, E_INVALID, "this path does not support Idempotency-Key");
    error_hint(&err, "/v1/run, /v1/batch, /v1/jobs, /v1/sessions and …/execute do");
    return refuse(request, 400, NULL, &err);
}

static int begin(struct request *request)
{
    struct error err = {0};

    request->body_limit = is_form(request) ? ATTACHMENTS_BODY_BYTES : request->route->max_body;
    if (!request->route->begin || request->route->begin(request, &err) == 0)
        return 0;
    request_answer_error(request, &err);
    return -1;
}

/* --- whose trace it belongs to --- */

/* A malformed header is ignored, as the recommendation says. */
static void read_trace(struct request *request)
{
    static const char shape[] = "hh-hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh-hhhhhhhhhhhhhhhh-hh";
    struct span text = request_header(request, "traceparent");

    if (!text.data || text.len != sizeof(shape) - 1 || memcmp(text.data, "ff", 2) == 0)
        return;
    for (size_t i = 0; i < text.len; i++)
        if (shape[i] == '-' ? text.data[i] != '-' : hex_lower_value(text.data[i]) < 0)
            return;
    if (memcmp(text.data + 3, "00000000000000000000000000000000", 32) == 0 ||
        memcmp(text.data + 36, "0000000000000000", 16) == 0)
        return;
    memcpy(request->traceparent, text.data, text.len);
}

int route_on_head(void *user, struct request *request)
{
    struct router *router = user;
    struct error err = {0};

    request->api = router->api;
    read_trace(request);
    if (check_host(router, request, &err) < 0 || check_origin(router, request, &err) < 0) {
        router->metrics->refusals[METRICS_ORIGIN]++;
        return refuse(request, 403, NULL, &err);
    }
    if (pick_route(router, request) < 0)
        return -1;
    if (request->route->access != ROUTE_PUBLIC &&
        (authenticate(router, request) < 0 || count_request(router, request) < 0))
        return -1;
    if (router->is_stopping) {
        router->metrics->refusals[METRICS_STOPPING]++;
        error_set(&err, E_BUSY, "the server is stopping");
        return refuse(request, 503, NULL, &err);
    }
    if (!request->route->passes_query &&
        schema_read_query(request->route->query, request->head.query, &request->query, &err) < 0) {
        request_answer_error(request, &err);
        return -1;
    }
    return check_key(request) < 0 || check_body(request) < 0 ? -1 : begin(request);
}

static struct json_text_limits body_limits(const struct request *request)
{
    return (struct json_text_limits){.bytes = (size_t)request->route->max_body,
                                     .depth = BODY_DEPTH};
}

static int check_json(struct request *request, struct error *err)
{
    if (!json_is_object(request->json))
        return error_set(err, E_INVALID, "the body must be a JSON object");
    schema_drop_null(request->route->body, request->json);
    return schema_check(request->route->body, request->json, err);
}

/* No body is an empty object. */
static int read_json(struct request *request, struct error *err)
{
    const struct json_text_limits limits = body_limits(request);

    if (request->body.len == 0)
        request->json = json_object();
    else if (json_text_load(buf_str(&request->body), request->body.len, &limits, &request->json,
                            err) < 0)
        return error_wrap(err, "the body");
    if (!request->json)
        return error_memory(err);
    return check_json(request, err);
}

static int read_body(struct request *request, struct error *err)
{
    if (!request->route->body || request->route->reads_body)
        return 0;
    if ((is_form(request) ? form_read(request, err) : read_json(request, err)) < 0)
        return -1;
    if (request->route->takes_key && request_header(request, "idempotency-key").data)
        return fingerprint_read(request, err);
    return 0;
}

bool route_has_others(void *user)
{
    const struct router *router = user;

    return auth_has_others(router->api->auth);
}

static struct auth *auth_of(const struct request *request)
{
    const struct api *api = request->api;

    return api->auth;
}

bool route_is_known(const struct request *request)
{
    const struct caller *caller = request->caller;

    if (request->page &&
        !page_token_lives(auth_pages(auth_of(request)), request->page, loop_now_ns()))
        return false;
    return !caller || (caller->is_known && caller->generation == request->generation);
}

bool route_is_still_known(const struct request *request)
{
    if (request->caller)
        auth_refresh(auth_of(request));
    return route_is_known(request);
}

/* The token was checked when the head came. The body may have taken as long as the client liked. */
static void refuse_removed(const struct router *router, struct request *request)
{
    void (*on_gone)(struct request *) = request->on_gone;
    struct error err = {0};

    request->on_gone = NULL;
    if (on_gone)
        on_gone(request); /* whoever took the pieces of the body lets go of them */
    router->metrics->refusals[METRICS_AUTH]++;
    error_set(&err, E_AUTH, "the token was removed");
    access_refused(router->recorder, NULL, "token", &err);
    request_answer_error_as(request, 401, NULL, &err);
}

/* The store has been brought up to date, or there was no need. */
static void handle(struct request *request)
{
    if (route_is_still_known(request))
        request->route->handle(request);
    else
        refuse_removed(request->router, request);
}

static void finish_reading(const struct router *router, struct request *request, int r,
                           struct error *err)
{
    if (!route_is_still_known(request)) {
        error_done(err);
        refuse_removed(router, request);
    } else if (r < 0)
        request_answer_error(request, err);
    else if (!store_read_first(request, handle))
        request->route->handle(request);
}

/* --- whose turn it is --- */

static struct loop_line *line_of(struct request *request)
{
    return request->caller ? &request->caller->line : &request->router->line;
}

/* --- a large body --- */

/* Larger ones are read in a task, a few milliseconds per turn of the loop. */
#define SLOW_BYTES ((size_t)128 << 10)

/* Works on the request itself. When the client goes, the work ends before the request does. */
struct slow_read {
    struct request *request;
    struct task task;
    struct error err;
    int result;
};

static void read_slowly(void *arg)
{
    struct slow_read *slow = arg;
    struct request *request = slow->request;

    if (!request->route->load) {
        slow->result = read_body(request, &slow->err);
        return;
    }
    request->json =
        request->route->load(buf_str(&request->body), request->body.len, &request->mistake);
    request->is_loaded = true;
}

static void on_slow_gone(struct request *request)
{
    struct slow_read *slow = request->user;

    (void)task_end(&slow->task);
    error_done(&slow->err);
    free(slow);
}

static void end_slow(void *arg)
{
    struct slow_read *slow = arg;
    struct request *request = slow->request;
    struct error err = {0};
    int r = slow->result;

    error_move(&err, &slow->err);
    free(slow);
    request->on_gone = NULL;
    request->user = NULL;
    finish_reading(request->router, request, r, &err);
}

/* Returns false when there is no memory for it. */
static bool begin_slow(struct request *request)
{
    static const struct task_steps steps = {.work = read_slowly, .done = end_slow};
    struct slow_read *slow = calloc(1, sizeof(*slow));

    if (!slow)
        return false;
    slow->request = request;
    slow->task.line = line_of(request);
    request->user = slow;
    request->on_gone = on_slow_gone;
    task_post(&slow->task, request->router->loop, &steps, slow);
    return true;
}

static void handle_whole(void *arg)
{
    struct request *request = arg;
    const struct router *router = request->router;
    struct error err = {0};

    if (router->loop && request->route->body &&
        (!request->route->reads_body || request->route->load) && request->body.len > SLOW_BYTES &&
        begin_slow(request))
        return;
    finish_reading(router, request, read_body(request, &err), &err);
}

/* The cost of a request is not known in advance. So requests are handled until this turn of the
 * loop has taken long, and the others wait, in a line for each caller: a caller with many requests
 * delays only itself. */
void route_on_whole(void *user, struct request *request)
{
    struct router *router = user;

    request->router = router;
    if (router->loop && (loop_is_late(router->loop) || !loop_line_is_empty(line_of(request))))
        loop_line_post(router->loop, line_of(request), &request->work, handle_whole, request);
    else
        handle_whole(request);
}

static bool accepts(const struct request *request, const char *type)
{
    struct span accept = request_header(request, "accept");

    return accept.data && memmem(accept.data, accept.len, type, strlen(type)) != NULL;
}

bool route_wants_events(const struct request *request)
{
    return accepts(request, "text/event-stream");
}

bool route_wants_page(const struct request *request)
{
    return accepts(request, "text/html");
}

bool route_wants_lines(const struct request *request)
{
    return accepts(request, "application/x-ndjson") || accepts(request, "application/jsonl");
}
