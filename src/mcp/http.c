/* Requests of /mcp: which client, which era, which stream. */
#include "mcp/http.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/api.h"
#include "base/cleanup.h"
#include "mcp/http_internal.h"

struct mcp_http *mcp_http_of(const struct request *request)
{
    return ((const struct api *)request->api)->mcp;
}

bool mcp_http_lists_all(const struct request *request)
{
    return json_object_get(request->query, "tools") != NULL; /* "all" is all it can be */
}

json_t *mcp_http_load(struct request *request, json_t **ret_answer)
{
    json_t *message = request->json;

    if (!request->is_loaded) /* it is small */
        return mcp_load(buf_str(&request->body), request->body.len, ret_answer);
    *ret_answer = request->mistake;
    request->json = request->mistake = NULL;
    return message;
}

void mcp_http_refuse(struct request *request, int status, int code, const char *message)
{
    request_answer_json(request, status, mcp_error_json(NULL, code, message));
}

/* --- what the client takes --- */

static bool names_type(struct span accept, const char *type)
{
    const char *slash = strchr(type, '/');
    size_t whole = strlen(type), family = (size_t)(slash - type) + 1;

    while (accept.len) {
        size_t n = span_until(accept, ",");
        struct span one = {accept.data, n};

        while (one.len && (*one.data == ' ' || *one.data == '\t')) {
            one.data++;
            one.len--;
        }
        one.len = span_until(one, "; \t");
        if ((one.len == whole && strncasecmp(one.data, type, whole) == 0) || span_is(one, "*/*") ||
            (one.len == family + 1 && strncasecmp(one.data, type, family) == 0 &&
             one.data[family] == '*'))
            return true;
        n += n < accept.len;
        accept.data += n;
        accept.len -= n;
    }
    return false;
}

/* Without the header everything is taken (RFC 9110, 12.5.1). */
static bool takes(const struct request *request, const char *type)
{
    struct span accept = request_header(request, "accept");

    return !accept.data || names_type(accept, type);
}

static int check_accept(struct request *request, bool is_post)
{
    if (takes(request, "text/event-stream") && (!is_post || takes(request, "application/json")))
        return 0;
    mcp_http_refuse(request, 406, MCP_INVALID_REQUEST,
                    is_post ? "Accept must include application/json and text/event-stream"
                            : "Accept must include text/event-stream");
    return -1;
}

/* --- POST --- */

static void post_modern(struct request *request, json_t *message)
{
    struct mcp_http *http = mcp_http_of(request);
    struct mcp_peer_options options = {.owner = request->owner,
                                       .caller = request->caller,
                                       .lists_all = mcp_http_lists_all(request)};
    struct mcp_peer *peer = NULL;
    struct mcp_stream *stream;
    struct error err = {0};

    if (mcp_peer_new(http->options.server, &options, &peer, &err) < 0) {
        json_decref(message);
        request_answer_error(request, &err);
        return;
    }
    stream = mcp_stream_new(http, NULL, request);
    if (!stream) {
        json_decref(message);
        mcp_peer_free(peer);
        return;
    }
    stream->peer = peer;
    mcp_peer_receive(peer, message, &stream->exchange);
}

static size_t count_open(const struct mcp_http_session *session)
{
    const struct mcp_stream *s;
    size_t count = 0;

    LIST_FOREACH(s, &session->streams, link)
        count += s->is_open;
    return count;
}

/* The session that the request names, or NULL: it has been answered. 404 tells a client to begin
 * anew, so nothing else may say it. */
static struct mcp_http_session *named_session(struct request *request)
{
    struct span id = request_header(request, "mcp-session-id");
    struct mcp_http_session *session;

    if (!id.data) {
        mcp_http_refuse(request, 400, MCP_INVALID_REQUEST,
                        "the header Mcp-Session-Id is missing: `initialize` comes first");
        return NULL;
    }
    session = mcp_http_session_find(mcp_http_of(request), request->owner, id);
    if (!session)
        mcp_http_refuse(request, 404, MCP_INVALID_REQUEST,
                        "there is no such session: `initialize` opens one");
    return session;
}

static void post_legacy(struct request *request, json_t *message, bool is_initialize)
{
    struct mcp_http *http = mcp_http_of(request);
    struct mcp_http_session *session =
        is_initialize ? mcp_http_session_new(http, request) : named_session(request);
    struct mcp_stream *stream = NULL;

    if (session && count_open(session) >= MCP_STREAMS_OPEN)
        mcp_http_refuse(request, 429, MCP_INVALID_REQUEST, "too many requests at once");
    else if (session)
        stream = mcp_stream_new(http, session, request);
    if (!stream) {
        json_decref(message);
        if (session && is_initialize)
            mcp_http_session_free(session);
        return;
    }
    stream->is_initialize = is_initialize;
    mcp_peer_receive(session->peer, message, &stream->exchange);
}

static void on_post(struct request *request)
{
    json_t *message, *answer = NULL;
    struct mcp_sorted sorted;

    if (check_accept(request, true) < 0)
        return;
    message = mcp_http_load(request, &answer);
    if (!message) {
        request_answer_json(request, 400, answer);
        return;
    }
    mcp_sort(message, request_header(request, "mcp-protocol-version"), &sorted);
    if (sorted.era == MCP_MODERN)
        post_modern(request, message);
    else
        post_legacy(request, message, sorted.is_initialize);
}

/* --- GET, DELETE: the legacy era's --- */

static int check_legacy(struct request *request)
{
    struct error err = {0};

    if (!span_is(request_header(request, "mcp-protocol-version"), MCP_MODERN_VERSION))
        return 0;
    error_set(&err, E_INVALID, "this protocol version supports only POST");
    request_answer_error_as(request, 405, "Allow: POST\r\n", &err);
    return -1;
}

/* "STREAM-EVENT" */
static int read_event_id(struct span text, uint64_t *ret_stream, uint64_t *ret_event)
{
    char copy[48], *end;

    if (text.len == 0 || text.len >= sizeof(copy))
        return -1;
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    if (copy[0] < '0' || copy[0] > '9')
        return -1;
    *ret_stream = strtoull(copy, &end, 10);
    if (*end != '-' || end[1] < '0' || end[1] > '9')
        return -1;
    *ret_event = strtoull(end + 1, &end, 10);
    return *end ? -1 : 0;
}

static void resume(struct mcp_http_session *session, struct request *request, struct span last)
{
    uint64_t number = 0, event = 0;
    struct mcp_stream *s;

    if (read_event_id(last, &number, &event) == 0) {
        if (number == 0) {
            mcp_http_session_attach(session, request, event);
            return;
        }
        LIST_FOREACH(s, &session->streams, link)
            if (s->number == number && s->has_events) {
                mcp_stream_resume(s, request, event);
                return;
            }
    }
    mcp_http_refuse(request, 400, MCP_INVALID_REQUEST,
                    "the stream of that event is no longer kept");
}

static void on_get(struct request *request)
{
    struct span last = request_header(request, "last-event-id");
    struct mcp_http_session *session;

    if (check_legacy(request) < 0 || check_accept(request, false) < 0)
        return;
    session = named_session(request);
    if (!session)
        return;
    if (last.data)
        resume(session, request, last);
    else
        mcp_http_session_attach(session, request, SSE_UNREAD);
}

static void on_delete(struct request *request)
{
    struct mcp_http_session *session;

    if (check_legacy(request) < 0)
        return;
    session = named_session(request);
    if (!session)
        return;
    mcp_http_session_free(session);
    request_answer_empty(request, 204);
}

/* --- where tokens come from --- */

/* Clients that are refused look here (RFC 9728). Where there is nothing to say they have to be told
 * so in plain words: a page, or another refusal, would send them in circles. */
static void show_metadata(struct request *request)
{
    const struct config *config = ((const struct api *)request->api)->config;
    json_t *servers;
    struct error err = {0};

    if (!config->authorization_servers.count) {
        error_set(&err, E_NOT_FOUND, "there is no authorization server for this resource");
        error_hint(&err, "get a token from the operator: `belljar token add NAME`");
        request_answer_error(request, &err);
        return;
    }
    servers = json_array();
    for (size_t i = 0; i < config->authorization_servers.count; i++)
        (void)json_array_append_new(servers, json_string(config->authorization_servers.items[i]));
    request_answer_json(request, 200,
                        json_pack("{s:s,s:o,s:[s],s:s}", "resource", config->mcp_resource,
                                  "authorization_servers", servers, "bearer_methods_supported",
                                  "header", "resource_name", "Belljar"));
}

/* --- the table --- */

/* clang-format off */
static const struct schema_field message_fields[] = {
    {"jsonrpc", SCHEMA_STRING, .is_required = true, .choices = "2.0", .help = "the version of JSON-RPC"},
    {"method", SCHEMA_STRING, .help = "what is asked for; id, params, result and error as JSON-RPC has them"},
    {0},
};

const struct schema_field mcp_http_query[] = {
    {"tools", SCHEMA_STRING, .choices = "all", .help = "list all tools", .example = "\"all\""},
    {0},
};

const struct route mcp_http_routes[] = {
    {"POST", "/mcp", on_post, .body = message_fields, .query = mcp_http_query, .max_body = MCP_MESSAGE_BYTES, .reads_body = true, .load = mcp_load,
     .streams = true, .status = 200, .is_unlisted = true,
     .summary = "one message of the Model Context Protocol (Streamable HTTP)"},
    {"GET", "/mcp", on_get, .query = mcp_http_query, .streams = true, .status = 200, .is_unlisted = true,
     .summary = "notifications of a session, or the rest of a stream after `Last-Event-ID`"},
    {"DELETE", "/mcp", on_delete, .query = mcp_http_query, .status = 204, .is_unlisted = true, .summary = "end a session"},
    {"GET", "/.well-known/oauth-protected-resource", show_metadata, .access = ROUTE_PUBLIC, .status = 200,
     .is_unlisted = true, .summary = "where a token comes from (RFC 9728)"},
    {"GET", "/.well-known/oauth-protected-resource/mcp", show_metadata, .access = ROUTE_PUBLIC, .status = 200,
     .is_unlisted = true, .summary = "where a token comes from (RFC 9728)"},
    {0},
};
/* clang-format on */
