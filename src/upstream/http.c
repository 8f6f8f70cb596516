/* A server with a URL: a POST for each message (Streamable HTTP), each on a connection of its own.
 *
 * Names are looked up as those that sandboxes ask for are (resolve.h).
 * Redirections are not followed, and certificates are checked.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/resolve.h"
#include "base/tls_client.h"
#include "upstream/http_reply.h"
#include "upstream/message.h"
#include "upstream/wire.h"

/* Time for the server to take a message that needs no answer. */
#define NOTICE_S 30

/* That many of them at once. A server that asks us something a thousand times in one answer does
 * not get a thousand connections of ours. */
#define NOTICES_MAX 16

struct http_wire {
    struct upstream_wire wire; /* the first, for http_of() */
    struct loop *loop;
    const struct config_server *server;
    struct host host;
    uint16_t port;
    struct span path; /* and query, of the settings */
    bool is_tls;
    struct address address;
    bool is_found; /* the address is known */
    struct resolver *resolver;
    struct lookup *lookup;
    char session[HTTP_REPLY_SESSION_MAX];
    struct exchange *exchanges;
    struct loop_watch *end_timer; /* reports the end outside of the owner's calls */
    struct error end;
};

/* One POST and its answer. */
struct exchange {
    struct http_wire *wire;
    struct exchange *next;
    uint64_t id; /* 0: no answer is expected */
    struct buf request;
    struct bufferevent *socket;
    struct http_reply reply;
    bool is_answered;
};

static struct http_wire *http_of(struct upstream_wire *wire)
{
    return (struct http_wire *)wire;
}

/* --- exchanges --- */

static void free_exchange(struct exchange *x)
{
    struct exchange **at = &x->wire->exchanges;

    while (*at && *at != x)
        at = &(*at)->next;
    if (*at)
        *at = x->next;
    if (x->socket)
        bufferevent_free(x->socket); /* and the TLS with it */
    http_reply_done(&x->reply);
    buf_done(&x->request);
    free(x);
}

/* Ends it; whoever waits for its answer is told. */
static void lose(struct exchange *x, const struct error *err)
{
    struct http_wire *h = x->wire;
    uint64_t id = x->is_answered ? 0 : x->id;

    free_exchange(x);
    if (id)
        h->wire.events->on_lost(h->wire.user, id, err);
}

/* A text of the answer. Answers of others are as good as none. */
static void on_text(void *user, const char *text, size_t len)
{
    struct exchange *x = user;
    struct http_wire *h = x->wire;
    cleanup_error struct error err = {0};
    cleanup_error struct error ignored = {0};
    json_t *message = upstream_message_load(text, len, &err);
    struct upstream_message m;

    if (!message)
        return; /* the end of the answer tells that there was none */
    m = upstream_message_read(message, &ignored);
    if ((m.kind == UPSTREAM_RESULT || m.kind == UPSTREAM_ERROR) && m.id != x->id) {
        json_decref(message);
        return;
    }
    if (*x->reply.session && !*h->session) /* what follows at once needs it */
        memcpy(h->session, x->reply.session, sizeof(h->session));
    x->is_answered = x->is_answered || m.kind == UPSTREAM_RESULT || m.kind == UPSTREAM_ERROR;
    h->wire.events->on_message(h->wire.user, message);
    json_decref(message);
}

static void refuse(const struct exchange *x, struct error *err)
{
    int status = x->reply.status;

    if (status >= 300 && status < 400)
        error_set(err, E_PROTOCOL, "the server redirects (HTTP %d)", status);
    else if (status == 401 || status == 403)
        error_set(err, E_DENIED, "the server refuses the request (HTTP %d)", status);
    else if (status >= 400)
        error_set(err, E_PROTOCOL, "the server answers with HTTP %d", status);
    else
        error_set(err, E_PROTOCOL, "the server's answer has no result");
    if (status == 401 || status == 403)
        error_hint(err, "set the required credentials as `headers` of [servers.%s]",
                   x->wire->server->name);
}

static void on_wire_end(void *arg)
{
    struct http_wire *h = arg;

    h->wire.events->on_end(h->wire.user, &h->end);
}

static void finish(struct exchange *x)
{
    struct http_wire *h = x->wire;
    cleanup_error struct error err = {0};

    refuse(x, &err);
    /* A session that has ended is begun anew. */
    if (x->reply.status == 404 && *h->session && !h->wire.is_modern && h->end.code == E_NONE) {
        error_set(&h->end, E_PROTOCOL, "server `%s` has ended the session", h->server->name);
        loop_timer_start(h->end_timer, 0);
    }
    lose(x, &err);
}

static void on_read(struct bufferevent *socket, void *arg)
{
    struct exchange *x = arg;
    struct evbuffer *in = bufferevent_get_input(socket);
    cleanup_error struct error err = {0};
    size_t len = evbuffer_get_length(in);
    const char *data = (const char *)evbuffer_pullup(in, -1);
    int r = len ? http_reply_feed(&x->reply, data, len, &err) : 0;

    (void)evbuffer_drain(in, len);
    if (r < 0)
        lose(x, &err);
    else if (x->reply.response.is_over || (x->id && x->is_answered))
        finish(x);
}

static void name_failure(const struct exchange *x, short what, struct error *err)
{
    if (x->wire->is_tls && tls_client_explain_bufferevent(x->socket, err))
        return;
    if (what & BEV_EVENT_TIMEOUT)
        error_set(err, E_BUSY, "the server accepts no input");
    else
        error_set(err, E_PROTOCOL, "no connection to %s: %s", x->wire->server->url,
                  evutil_socket_error_to_string(EVUTIL_SOCKET_ERROR()));
}

static void on_event(struct bufferevent *socket, short what, void *arg)
{
    struct exchange *x = arg;
    cleanup_error struct error err = {0};

    (void)socket;
    if (what & BEV_EVENT_CONNECTED)
        return;
    if ((what & BEV_EVENT_EOF) && http_reply_end(&x->reply, &err) == 0) {
        finish(x);
        return;
    }
    if (!(what & BEV_EVENT_EOF))
        name_failure(x, what, &err);
    lose(x, &err);
}

/* --- connections --- */

static int connect_exchange(struct exchange *x)
{
    struct http_wire *h = x->wire;
    struct sockaddr_storage to;
    unsigned len;

    x->socket = h->is_tls ? tls_client_bufferevent(h->loop, &h->host)
                          : bufferevent_socket_new(loop_base(h->loop), -1, BEV_OPT_CLOSE_ON_FREE);
    if (!x->socket)
        return -1;
    bufferevent_setcb(x->socket, on_read, NULL, on_event, x);
    if (!x->id)
        bufferevent_set_timeouts(x->socket, &(struct timeval){NOTICE_S, 0},
                                 &(struct timeval){NOTICE_S, 0});
    if (bufferevent_write(x->socket, x->request.data, x->request.len) < 0 ||
        bufferevent_enable(x->socket, EV_READ | EV_WRITE) < 0)
        return -1;
    len = address_to_socket(&h->address, h->port, &to);
    return bufferevent_socket_connect(x->socket, (struct sockaddr *)&to, (int)len);
}

/* All that waited for the address. What cannot be connected is told by its own event, or here. */
static void connect_all(struct http_wire *h, const struct error *why)
{
    struct exchange *x = h->exchanges;

    while (x) {
        cleanup_error struct error err = {0};

        if (x->socket || (!why && connect_exchange(x) == 0)) {
            x = x->next;
            continue;
        }
        error_set(&err, E_PROTOCOL, "no connection to %s", h->server->url);
        lose(x, why ? why : &err);
        x = h->exchanges; /* others may have gone with it */
    }
}

/* --- the address --- */

/* A token in a header does not travel in clear beyond this machine. */
static int check_address(const struct http_wire *h, struct error *err)
{
    if (h->is_tls || !h->server->headers || address_is_loopback(&h->address))
        return 0;
    error_set(err, E_DENIED, "server `%s` has headers, but its URL does not use TLS",
              h->server->name);
    return error_hint(err, "use https://, or leave `headers` out");
}

static void on_found(void *user, const struct address *addresses, size_t count, const char *why)
{
    struct http_wire *h = user;
    cleanup_error struct error err = {0};

    h->lookup = NULL;
    if (count) {
        h->address = addresses[0];
        h->is_found = check_address(h, &err) == 0;
    } else {
        error_set(&err, E_NOT_FOUND, "there is no host `%s`: %s", h->host.name, why);
    }
    connect_all(h, h->is_found ? NULL : &err);
}

static int look_up(struct http_wire *h, struct error *err)
{
    if (!h->lookup)
        h->lookup = resolve_start(h->resolver, h, NULL, h->host.name, on_found, h);
    return h->lookup ? 0 : error_memory(err);
}

/* --- requests --- */

static int add_protocol(const struct http_wire *h, const json_t *message, struct buf *out,
                        struct error *err)
{
    const char *method = json_string_value(json_object_get(message, "method"));
    const json_t *params = json_object_get(message, "params");
    const char *name = json_string_value(json_object_get(params, "name"));

    if (h->wire.version &&
        buf_printf(out, err, "MCP-Protocol-Version: %s\r\n", h->wire.version) < 0)
        return -1;
    if (!h->wire.is_modern)
        return *h->session ? buf_printf(out, err, "Mcp-Session-Id: %s\r\n", h->session) : 0;
    if (method && buf_printf(out, err, "Mcp-Method: %s\r\n", method) < 0)
        return -1;
    /* Names of tools have been checked to be plain. */
    return method && name && strcmp(method, "tools/call") == 0
               ? buf_printf(out, err, "Mcp-Name: %s\r\n", name)
               : 0;
}

static int write_request(const struct http_wire *h, const json_t *message, struct buf *out,
                         struct error *err)
{
    cleanup(buf_done) struct buf body = BUF_OF(4 * MIB);
    char host[HOST_TEXT];

    host_text(&h->host, host);
    if (json_text_dump(message, JSON_TEXT_COMPACT, &body, err) < 0 ||
        buf_printf(out, err,
                   "POST %s%.*s HTTP/1.1\r\nHost: %s:%u\r\nConnection: close\r\n"
                   "Content-Type: application/json\r\nContent-Length: %zu\r\n"
                   "Accept: application/json, text/event-stream\r\nUser-Agent: belljar\r\n",
                   h->path.len && *h->path.data == '/' ? "" : "/", (int)h->path.len, h->path.data,
                   host, h->port, body.len) < 0 ||
        add_protocol(h, message, out, err) < 0)
        return -1;
    for (char *const *header = h->server->headers; header && *header; header++)
        if (buf_printf(out, err, "%s\r\n", *header) < 0)
            return -1;
    return buf_add_str(out, "\r\n", err) < 0 ? -1 : buf_add(out, buf_str(&body), body.len, err);
}

static size_t count_notices(const struct http_wire *h)
{
    size_t count = 0;

    for (const struct exchange *x = h->exchanges; x; x = x->next)
        count += !x->id;
    return count;
}

static int http_send(struct upstream_wire *wire, const json_t *message, uint64_t id,
                     struct error *err)
{
    struct http_wire *h = http_of(wire);
    struct exchange *x;

    if (!id && count_notices(h) >= NOTICES_MAX)
        return 0; /* nobody waits for it */
    x = calloc(1, sizeof(*x));
    if (!x)
        return error_memory(err);
    *x = (struct exchange){.wire = h, .next = h->exchanges, .id = id};
    h->exchanges = x;
    buf_init(&x->request, 5 * MIB);
    http_reply_init(&x->reply, on_text, x);
    if (write_request(h, message, &x->request, err) < 0 || (!h->is_found && look_up(h, err) < 0)) {
        free_exchange(x);
        return -1;
    }
    if (!h->is_found || connect_exchange(x) == 0)
        return 0;
    free_exchange(x);
    return error_set(err, E_PROTOCOL, "no connection to %s", h->server->url);
}

static void http_forget(struct upstream_wire *wire, uint64_t id)
{
    struct exchange *x = http_of(wire)->exchanges;

    while (x && x->id != id)
        x = x->next;
    if (x)
        free_exchange(x);
}

static void http_free(struct upstream_wire *wire)
{
    struct http_wire *h = http_of(wire);

    while (h->exchanges)
        free_exchange(h->exchanges);
    if (h->lookup)
        resolve_cancel(h->lookup);
    loop_watch_free(h->end_timer);
    error_done(&h->end);
    free(h);
}

/* --- opening --- */

static int read_url(struct http_wire *h, struct error *err)
{
    struct url url;
    const char *why = url_parse(h->server->url, strlen(h->server->url), &url);

    if (why)
        return error_set(err, E_INVALID, "server `%s`: invalid URL: %s", h->server->name, why);
    h->host = url.host;
    h->port = url_port(&url);
    h->is_tls = url.is_tls;
    h->path = url.target;
    return 0;
}

int upstream_http_open(struct loop *loop, struct resolver *resolver,
                       const struct config_server *server, const struct upstream_events *events,
                       void *user, struct upstream_wire **ret_wire, struct error *err)
{
    static const struct upstream_wire_ops ops = {http_send, http_forget, http_free};
    struct http_wire *h = calloc(1, sizeof(*h));

    if (!h)
        return error_memory(err);
    h->wire = (struct upstream_wire){.ops = &ops, .events = events, .user = user};
    h->loop = loop;
    h->resolver = resolver;
    h->server = server;
    h->end_timer = loop_timer(loop, on_wire_end, h);
    if (!h->end_timer || read_url(h, err) < 0) {
        if (!h->end_timer)
            error_memory(err);
        http_free(&h->wire);
        return -1;
    }
    h->is_found = h->host.is_address || host_is_loopback(&h->host);
    h->address = h->host.is_address ? h->host.address : address_localhost[0];
    if (h->is_found && check_address(h, err) < 0) {
        http_free(&h->wire);
        return -1;
    }
    *ret_wire = &h->wire;
    return 0;
}
