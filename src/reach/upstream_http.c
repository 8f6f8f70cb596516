/* A server with a URL: a POST for each message (Streamable HTTP), each on a connection of its own.
 *
 * Addresses are looked up by a program of the system's, so that nothing of ours waits for a name.
 * Redirections are not followed, and certificates are checked.
 */
#include <arpa/inet.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "reach/child.h"
#include "reach/http_reply.h"
#include "reach/upstream_message.h"
#include "reach/upstream_wire.h"

#define NAME_BYTES 256

/* What is not answered has so long to be taken. */
#define NOTICE_S 30

/* That many of them at once. A server that asks us something a thousand times in one answer does
 * not get a thousand connections of ours. */
#define NOTICES_MAX 16

struct http_wire {
    struct upstream_wire wire; /* the first, for http_of() */
    struct loop *loop;
    const struct config_server *server;
    char host[NAME_BYTES];
    char port[8];
    const char *path;
    bool is_tls;
    SSL_CTX *context;
    struct sockaddr_storage address;
    socklen_t address_len; /* 0: not known yet */
    struct child finder;   /* looks it up */
    struct loop_watch *found;
    struct buf addresses;
    char session[HTTP_REPLY_SESSION_MAX];
    struct exchange *exchanges;
    struct loop_watch *end_timer; /* tells of the end outside of the owner's calls */
    struct error end;
};

/* One POST and its answer. */
struct exchange {
    struct http_wire *wire;
    struct exchange *next;
    uint64_t id; /* 0: no answer is expected */
    struct buf request;
    struct bufferevent *socket;
    SSL *tls;
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
        error_set(err, E_PROTOCOL, "the server sends us elsewhere (HTTP %d)", status);
    else if (status == 401 || status == 403)
        error_set(err, E_DENIED, "the server refuses us (HTTP %d)", status);
    else if (status >= 400)
        error_set(err, E_PROTOCOL, "the server answers with HTTP %d", status);
    else
        error_set(err, E_PROTOCOL, "the server's answer has no result");
    if (status == 401 || status == 403)
        error_hint(err, "`headers` of [servers.%s] has what it wants to see",
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
        error_set(&h->end, E_PROTOCOL, "server `%s` has ended our session", h->server->name);
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
    else if (x->reply.state == HTTP_REPLY_DONE || (x->id && x->is_answered))
        finish(x);
}

static void name_failure(const struct exchange *x, short what, struct error *err)
{
    unsigned long tls = x->socket ? bufferevent_get_openssl_error(x->socket) : 0;
    long verdict = x->tls ? SSL_get_verify_result(x->tls) : X509_V_OK;

    if (verdict != X509_V_OK)
        error_set(err, E_DENIED, "the server's certificate: %s",
                  X509_verify_cert_error_string(verdict));
    else if (tls)
        error_set(err, E_PROTOCOL, "TLS: %s", ERR_reason_error_string(tls));
    else if (what & BEV_EVENT_TIMEOUT)
        error_set(err, E_BUSY, "the server takes nothing");
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

/* The certificate has to be for the host of the URL, name or address. */
static SSL *new_tls(const struct http_wire *h)
{
    SSL *tls = SSL_new(h->context);

    if (!tls)
        return NULL;
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls), h->host) == 1)
        return tls;
    ERR_clear_error();
    if (SSL_set1_host(tls, h->host) == 1 && SSL_set_tlsext_host_name(tls, h->host) == 1)
        return tls;
    SSL_free(tls);
    return NULL;
}

static int connect_exchange(struct exchange *x)
{
    struct http_wire *h = x->wire;
    struct event_base *base = loop_base(h->loop);

    x->tls = h->is_tls ? new_tls(h) : NULL;
    if (h->is_tls && x->tls)
        x->socket = bufferevent_openssl_socket_new(base, -1, x->tls, BUFFEREVENT_SSL_CONNECTING,
                                                   BEV_OPT_CLOSE_ON_FREE);
    else if (!h->is_tls)
        x->socket = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
    if (!x->socket)
        return -1;
    if (h->is_tls)
        bufferevent_openssl_set_allow_dirty_shutdown(x->socket, 1);
    bufferevent_setcb(x->socket, on_read, NULL, on_event, x);
    if (!x->id)
        bufferevent_set_timeouts(x->socket, &(struct timeval){NOTICE_S, 0},
                                 &(struct timeval){NOTICE_S, 0});
    if (bufferevent_write(x->socket, x->request.data, x->request.len) < 0 ||
        bufferevent_enable(x->socket, EV_READ | EV_WRITE) < 0)
        return -1;
    return bufferevent_socket_connect(x->socket, (struct sockaddr *)&h->address,
                                      (int)h->address_len);
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

static bool is_loopback(const struct http_wire *h)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&h->address;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&h->address;

    if (h->address.ss_family == AF_INET)
        return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

static bool take_address(struct http_wire *h, const char *text)
{
    struct addrinfo wanted = {.ai_socktype = SOCK_STREAM,
                              .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    struct addrinfo *found = NULL;

    if (getaddrinfo(text, h->port, &wanted, &found) != 0)
        return false;
    memcpy(&h->address, found->ai_addr, found->ai_addrlen);
    h->address_len = found->ai_addrlen;
    freeaddrinfo(found);
    return true;
}

/* A token in a header does not travel in clear beyond this machine. */
static int check_address(const struct http_wire *h, struct error *err)
{
    if (h->is_tls || !h->server->headers || is_loopback(h))
        return 0;
    error_set(err, E_DENIED, "server `%s` has headers, and its URL no TLS", h->server->name);
    return error_hint(err, "use https://, or leave `headers` out");
}

static void on_found(void *arg)
{
    struct http_wire *h = arg;
    cleanup_error struct error err = {0};
    char piece[1024], words[32], *space;
    ssize_t n = read(h->finder.out, piece, sizeof(piece));

    if (n > 0 && buf_add(&h->addresses, piece, (size_t)n, NULL) == 0)
        return;
    loop_watch_free(h->found);
    h->found = NULL;
    (void)child_reap(&h->finder, words);
    child_done(&h->finder, 0);
    space = strpbrk(buf_str(&h->addresses), " \t\n");
    if (space)
        *space = '\0';
    if (!space || !take_address(h, buf_str(&h->addresses)))
        error_set(&err, E_NOT_FOUND, "there is no host `%s`", h->host);
    else
        (void)check_address(h, &err);
    buf_clear(&h->addresses);
    if (err.code != E_NONE)
        h->address_len = 0;
    connect_all(h, err.code != E_NONE ? &err : NULL);
}

static int look_up(struct http_wire *h, struct error *err)
{
    static char program[] = "getent", database[] = "ahosts";
    char *argv[] = {program, database, h->host, NULL};

    if (h->found)
        return 0;
    if (child_start(&(struct child_options){.argv = argv}, &h->finder, err) < 0)
        return -1;
    h->found = loop_watch_fd(h->loop, h->finder.out, LOOP_READ, on_found, h);
    if (h->found)
        return 0;
    child_done(&h->finder, 0);
    return error_memory(err);
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
    cleanup(buf_done) struct buf body = {0};
    bool is_v6 = strchr(h->host, ':') != NULL;

    buf_init(&body, 4 * MIB);
    if (json_text_dump(message, JSON_TEXT_COMPACT, &body, err) < 0 ||
        buf_printf(out, err,
                   "POST %s HTTP/1.1\r\nHost: %s%s%s:%s\r\nConnection: close\r\n"
                   "Content-Type: application/json\r\nContent-Length: %zu\r\n"
                   "Accept: application/json, text/event-stream\r\nUser-Agent: belljar\r\n",
                   h->path, is_v6 ? "[" : "", h->host, is_v6 ? "]" : "", h->port, body.len) < 0 ||
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
    if (write_request(h, message, &x->request, err) < 0 ||
        (!h->address_len && look_up(h, err) < 0)) {
        free_exchange(x);
        return -1;
    }
    if (!h->address_len || connect_exchange(x) == 0)
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
    loop_watch_free(h->found);
    loop_watch_free(h->end_timer);
    child_done(&h->finder, 0);
    buf_done(&h->addresses);
    SSL_CTX_free(h->context);
    error_done(&h->end);
    free(h);
}

/* --- opening --- */

static int bad_url(const struct http_wire *h, struct error *err)
{
    return error_set(err, E_INVALID, "server `%s` has a URL that is none", h->server->name);
}

/* HOST, HOST:PORT or [HOST]:PORT; without anything else that URLs may have there. */
static int read_authority(struct http_wire *h, const char *text, struct error *err)
{
    bool is_v6 = *text == '[';
    size_t host_len = strcspn(text + is_v6, is_v6 ? "]" : ":");
    const char *rest = text + is_v6 + host_len;

    if (is_v6 && *rest++ != ']')
        return bad_url(h, err);
    if (!host_len || host_len >= sizeof(h->host) || strpbrk(text, "@ \t\r\n") ||
        (*rest && *rest != ':'))
        return bad_url(h, err);
    memcpy(h->host, text + is_v6, host_len);
    if (*rest && (strlen(rest + 1) > 5 || !rest[1] || rest[1 + strspn(rest + 1, "0123456789")]))
        return bad_url(h, err);
    (void)snprintf(h->port, sizeof(h->port), "%.5s", *rest ? rest + 1 : h->is_tls ? "443" : "80");
    return 0;
}

static int read_url(struct http_wire *h, struct error *err)
{
    const char *at = strstr(h->server->url, "://") + 3;
    size_t len = strcspn(at, "/?#");
    char authority[2 * NAME_BYTES];

    if (len >= sizeof(authority) || strpbrk(h->server->url, " \t\r\n#") || at[len] == '?')
        return bad_url(h, err);
    memcpy(authority, at, len);
    authority[len] = '\0';
    h->is_tls = strncmp(h->server->url, "https", 5) == 0;
    h->path = at[len] == '/' ? at + len : "/";
    return read_authority(h, authority, err);
}

static int open_tls(struct http_wire *h, struct error *err)
{
    if (!h->is_tls)
        return 0;
    h->context = SSL_CTX_new(TLS_client_method());
    if (!h->context || SSL_CTX_set_min_proto_version(h->context, TLS1_2_VERSION) != 1 ||
        SSL_CTX_set_default_verify_paths(h->context) != 1)
        return error_set(err, E_SYSTEM, "TLS cannot be prepared");
    SSL_CTX_set_verify(h->context, SSL_VERIFY_PEER, NULL);
    return 0;
}

int upstream_http_open(struct loop *loop, const struct config_server *server,
                       const struct upstream_events *events, void *user,
                       struct upstream_wire **ret_wire, struct error *err)
{
    static const struct upstream_wire_ops ops = {http_send, http_forget, http_free};
    struct http_wire *h = calloc(1, sizeof(*h));

    if (!h)
        return error_memory(err);
    h->wire = (struct upstream_wire){.ops = &ops, .events = events, .user = user};
    h->loop = loop;
    h->server = server;
    h->finder = CHILD_NONE;
    buf_init(&h->addresses, 64 * KIB);
    h->end_timer = loop_timer(loop, on_wire_end, h);
    if (!h->end_timer || read_url(h, err) < 0 || open_tls(h, err) < 0) {
        if (!h->end_timer)
            error_memory(err);
        http_free(&h->wire);
        return -1;
    }
    if (strcmp(h->host, "localhost") == 0)
        (void)take_address(h, "127.0.0.1");
    else
        (void)take_address(h, h->host);
    if (h->address_len && check_address(h, err) < 0) {
        http_free(&h->wire);
        return -1;
    }
    *ret_wire = &h->wire;
    return 0;
}
