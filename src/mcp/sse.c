/* HTTP+SSE, as of 2024-11-05: one stream for everything the server says, which begins with the
 * address that messages are posted to. There is no way back to a stream that was lost, so what runs
 * for its client ends with it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/cleanup.h"
#include "base/id.h"
#include "base/share.h"
#include "mcp/http_internal.h"

/* Messages of one client that are being worked on. */
#define OPEN_MAX 256

#define CLIENTS_MAX 1024

struct old_exchange {
    struct mcp_exchange exchange; /* the first */
    struct mcp_old *client;
    LIST_ENTRY(old_exchange) link;
};

struct mcp_old {
    struct mcp_http *http;
    LIST_ENTRY(mcp_old) link;
    char id[MCP_SESSION_ID_SIZE];
    char owner[REQUEST_OWNER_MAX];
    struct mcp_peer *peer;
    LIST_HEAD(, old_exchange) open;
    size_t n_open;
    struct sse sse;
};

static void exchange_free(struct old_exchange *one)
{
    struct mcp_old *client = one->client;

    LIST_REMOVE(one, link);
    client->n_open--;
    free(one);
}

static void old_free(struct mcp_old *client)
{
    struct request *reader = client->sse.reader;

    LIST_REMOVE(client, link);
    mcp_peer_free(client->peer);
    while (!LIST_EMPTY(&client->open))
        exchange_free(LIST_FIRST(&client->open));
    sse_detach(&client->sse);
    if (reader)
        request_end(reader);
    sse_done(&client->sse);
    free(client);
}

void mcp_old_tick(struct mcp_http *http)
{
    struct mcp_old *client;

    LIST_FOREACH(client, &http->old, link)
        sse_keep_alive(&client->sse);
}

void mcp_old_forget(struct mcp_http *http, const char *owner)
{
    for (struct mcp_old *client = LIST_FIRST(&http->old), *next; client; client = next) {
        next = LIST_NEXT(client, link);
        if (!owner || strcmp(client->owner, owner) == 0)
            old_free(client);
    }
}

/* --- the stream --- */

static void on_gone(struct request *request)
{
    struct mcp_old *client = request->user;

    sse_detach(&client->sse);
    old_free(client);
}

static void on_drained(struct request *request)
{
    struct mcp_old *client = request->user;

    sse_pump(&client->sse);
}

static void on_news(void *user, const json_t *message)
{
    struct mcp_old *client = user;

    if (!sse_is_behind(&client->sse))
        mcp_stream_add(&client->sse, message);
}

/* The next client finds a place. */
static bool has_room(const struct mcp_http *http, const char *owner)
{
    struct share share = {.total = CLIENTS_MAX, .has_others = true};
    const struct mcp_old *client;

    LIST_FOREACH(client, &http->old, link) {
        share.used++;
        share.own += strcmp(client->owner, owner) == 0;
    }
    return share_allows(&share, 1);
}

static struct mcp_old *make(struct mcp_http *http, const struct request *request, struct error *err)
{
    struct mcp_old *client = calloc(1, sizeof(*client));
    struct mcp_peer_options options = {
        .owner = request->owner,
        .caller = request->caller,
        .lists_all = mcp_http_lists_all(request),
        .send = on_news,
        .user = client,
    };

    if (!client || id_make(client->id, "sse_") < 0) {
        free(client);
        error_set(err, E_SYSTEM, "out of memory or of random bytes");
        return NULL;
    }
    if (mcp_peer_new(http->options.server, &options, &client->peer, err) < 0) {
        free(client);
        return NULL;
    }
    (void)snprintf(client->owner, sizeof(client->owner), "%s", request->owner);
    client->http = http;
    LIST_INSERT_HEAD(&http->old, client, link);
    return client;
}

static void on_get(struct request *request)
{
    struct mcp_http *http = mcp_http_of(request);
    struct mcp_old *client = NULL;
    struct error err = {0};
    char address[MCP_SESSION_ID_SIZE + 32];

    if (!has_room(http, request->owner)) {
        error_set(&err, E_BUSY, "this token has as many SSE clients as it may have now");
        error_hint(&err, "close some of them, or use the Streamable HTTP transport at /mcp");
    } else {
        client = make(http, request, &err);
    }
    if (!client) {
        request_answer_error(request, &err);
        return;
    }
    request->user = client;
    request->on_gone = on_gone;
    request->on_drained = on_drained;
    sse_init(&client->sse);
    client->sse.headers = "X-Accel-Buffering: no\r\n";
    client->sse.has_no_ids = client->sse.is_silent = true;
    sse_attach(&client->sse, request, 0);
    (void)snprintf(address, sizeof(address), "/messages?sessionId=%s", client->id);
    (void)sse_add(&client->sse, "endpoint", address, strlen(address), NULL);
}

/* --- messages --- */

static void on_send(struct mcp_exchange *exchange, const json_t *message)
{
    mcp_stream_add(&((struct old_exchange *)exchange)->client->sse, message);
}

static void on_finish(struct mcp_exchange *exchange, const json_t *answer, int status)
{
    struct old_exchange *one = (struct old_exchange *)exchange;

    (void)status;
    if (answer)
        mcp_stream_add(&one->client->sse, answer);
    exchange_free(one);
}

static bool on_behind(const struct mcp_exchange *exchange)
{
    return sse_is_behind(&((const struct old_exchange *)exchange)->client->sse);
}

static struct old_exchange *exchange_new(struct mcp_old *client)
{
    struct old_exchange *one = calloc(1, sizeof(*one));

    if (!one)
        return NULL;
    one->exchange =
        (struct mcp_exchange){.send = on_send, .finish = on_finish, .is_behind = on_behind};
    one->client = client;
    LIST_INSERT_HEAD(&client->open, one, link);
    client->n_open++;
    return one;
}

static struct mcp_old *named_client(const struct request *request)
{
    const char *id = request_query(request, "sessionId");
    struct mcp_old *client;

    LIST_FOREACH(client, &mcp_http_of(request)->old, link)
        if (id && strcmp(client->id, id) == 0 && strcmp(client->owner, request->owner) == 0)
            return client;
    return NULL;
}

static void accept_message(struct request *request)
{
    static const char word[] = "Accepted";

    request_begin(request, 202, "text/plain", NULL, sizeof(word) - 1);
    (void)request_write(request, word, sizeof(word) - 1);
    request_end(request);
}

static void on_post(struct request *request)
{
    struct mcp_old *client = named_client(request);
    struct old_exchange *one;
    json_t *message, *answer = NULL;

    if (!client) {
        mcp_http_refuse(request, 404, MCP_INVALID_REQUEST, "there is no such session");
        return;
    }
    if (client->n_open >= OPEN_MAX || sse_is_behind(&client->sse)) {
        mcp_http_refuse(request, 429, MCP_INVALID_REQUEST, "too many messages at once");
        return;
    }
    message = mcp_http_load(request, &answer);
    one = message ? exchange_new(client) : NULL;
    if (!one) {
        json_decref(message);
        request_answer_json(request, message ? 500 : 400, answer);
        return;
    }
    accept_message(request);
    mcp_peer_receive(client->peer, message, &one->exchange);
}

/* --- the table --- */

/* clang-format off */
static const struct schema_field message_fields[] = {
    {"jsonrpc", SCHEMA_STRING, .is_required = true, .choices = "2.0", .help = "the version of JSON-RPC"},
    {"method", SCHEMA_STRING, .help = "what is asked for"},
    {0},
};
static const struct schema_field message_query[] = {
    {"sessionId", SCHEMA_STRING, .is_required = true, .max_len = MCP_SESSION_ID_SIZE,
     .help = "as the first event of /sse said it"},
    {0},
};

const struct route mcp_sse_routes[] = {
    {"GET", "/sse", on_get, .query = mcp_http_query, .streams = true, .status = 200, .is_unlisted = true,
     .summary = "a client of the Model Context Protocol as of 2024-11-05 (HTTP+SSE)"},
    {"POST", "/messages", on_post, .body = message_fields, .query = message_query,
     .max_body = MCP_MESSAGE_BYTES, .reads_body = true, .load = mcp_load, .status = 202, .is_unlisted = true,
     .summary = "one message of an SSE client; the answer arrives on its stream"},
    {0},
};
/* clang-format on */
