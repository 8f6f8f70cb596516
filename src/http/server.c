#include "http/server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/cleanup.h"
#include "base/share.h"
#include "http/internal.h"
#include "http/multipart.h"

/* All clocks are checked this often. */
#define TICK_MS 500

/* From the first byte of a head to its end: no client needs half of it. */
#define HEAD_MS 10000

/* A body or an answer that moves slower than so many bytes within a window is cut. */
#define PACE_MS    10000
#define PACE_BYTES ((uint64_t)4096)

/* An answer is written into a socket's buffer in jumps, and a phone sleeps. */
#define OUT_PACE_MS 30000

/* After the last answer: what the client still sends is read for so long, since closing on unread
 * bytes would destroy the answer on its way (RFC 9112, 9.6). */
#define LINGER_MS 2000

/* Bytes that may wait while a request is being handled: the next one's head. */
#define AHEAD_BYTES HTTP_HEAD_BYTES

#define READ_BYTES (64 * KIB)

static void go_on(struct http_connection *c);

void http_enter(struct http_connection *c, enum http_state state)
{
    c->state = state;
    c->since_ns = loop_now_ns();
    c->in = (struct http_pace){c->since_ns, c->received};
    c->out = (struct http_pace){c->since_ns,
                                c->added - evbuffer_get_length(bufferevent_get_output(c->socket))};
}

/* --- requests --- */

/* The caller to which the connection's memory is charged. */
static struct share_account *account_of(const struct http_connection *c)
{
    return c->request && c->request->account ? c->request->account : c->account;
}

static void free_request(struct request *request)
{
    loop_work_cancel(&request->work);
    for (size_t i = 0; i < REQUEST_PARAMS_MAX; i++)
        free(request->params[i]);
    json_decref(request->query);
    json_decref(request->json);
    json_decref(request->mistake);
    if (request->parts)
        shared_unref(request->parts->body);
    free(request->parts);
    buf_done(&request->body);
    free(request->head_text);
    free(request);
}

void http_drop_request(struct http_connection *c, bool is_gone)
{
    struct request *request = c->request;

    if (!request)
        return;
    c->account = account_of(c); /* its answer may still wait for its reader */
    c->request = NULL;
    c->server->n_requests--;
    c->server->held -= c->held;
    c->account->bodies -= c->held;
    c->held = 0;
    request->connection = NULL;
    if (request->counted)
        (*request->counted)--;
    if (is_gone && request->on_gone)
        request->on_gone(request);
    free_request(request);
}

static struct request *new_request(struct http_connection *c, const char *head, size_t len)
{
    struct request *request = calloc(1, sizeof(*request));
    struct http_refusal why;
    size_t scanned = 0;

    if (!request)
        return NULL;
    request->head_text = malloc(len);
    if (!request->head_text) {
        free(request);
        return NULL;
    }
    memcpy(request->head_text, head, len);
    (void)http_request_check(request->head_text, len, &scanned, &request->head, &why);
    request->connection = c;
    request->is_unix = c->is_unix;
    request->peer_uid = c->peer_uid;
    buf_init(&request->body, 0);
    c->request = request;
    c->account = &c->server->nobody;
    c->server->n_requests++;
    return request;
}

/* --- connections --- */

static void rest_or_listen(struct http_server *server)
{
    bool is_full = server->count >= server->options.max_connections;

    if (server->is_stopping || is_full == server->is_full)
        return;
    server->is_full = is_full;
    for (size_t i = 0; i < server->n_listeners; i++)
        (void)(is_full ? evconnlistener_disable(server->listeners[i].socket)
                       : evconnlistener_enable(server->listeners[i].socket));
}

void http_cut(struct http_connection *c)
{
    struct http_server *server = c->server;

    http_drop_request(c, true);
    loop_work_cancel(&c->work);
    http_greet_end(c);
    bufferevent_free(c->socket);
    if (c->before)
        c->before->after = c->after;
    else
        server->first = c->after;
    if (c->after)
        c->after->before = c->before;
    else
        server->last = c->before;
    server->count--;
    http_peer_leave(&server->peers, c->peer);
    c->peer = NULL;
    c->state = HTTP_DEAD;
    if (!c->is_going_on)
        free(c);
    rest_or_listen(server);
    if (server->is_stopping && server->count == 0)
        loop_timer_start(server->tick, 0);
}

/* The body will not become whole: whoever takes its pieces lets go of them. */
static void abandon(struct http_connection *c)
{
    struct request *request = c->request;
    void (*on_gone)(struct request *) = request ? request->on_gone : NULL;

    if (!on_gone)
        return;
    request->on_gone = NULL;
    on_gone(request);
}

/* A mistake in the bytes, maybe before there is a request that could be answered. */
static void refuse(struct http_connection *c, const struct http_refusal *why)
{
    static const char nothing[] = "GET / HTTP/1.1\r\nHost: -\r\n\r\n";
    struct error err = {0};

    c->is_closing = true;
    abandon(c);
    if (!c->request && !new_request(c, nothing, sizeof(nothing) - 1)) {
        http_cut(c);
        return;
    }
    error_set(&err, why->status == 431 || why->status == 413 ? E_TOO_LARGE : E_INVALID, "%s",
              why->message);
    request_answer_error_as(c->request, why->status, NULL, &err);
}

static void linger(struct http_connection *c)
{
    http_enter(c, HTTP_LINGERING);
    if (c->is_tls)
        tls_close(c->socket);
    (void)shutdown(bufferevent_getfd(c->socket), SHUT_WR);
    (void)evbuffer_drain(bufferevent_get_input(c->socket),
                         evbuffer_get_length(bufferevent_get_input(c->socket)));
    (void)bufferevent_enable(c->socket, EV_READ);
}

/* --- reading --- */

static void begin_body(struct http_connection *c)
{
    struct http_server *server = c->server;
    struct request *request = c->request;
    struct http_refusal why = {413, "the body is longer than this route accepts"};

    if (request->head.framing == HTTP_LENGTH && request->head.length > request->body_limit) {
        refuse(c, &why);
        return;
    }
    http_body_init(&c->body, &request->head);
    if (request->head.framing == HTTP_NO_BODY) {
        http_enter(c, HTTP_HANDLING);
        server->options.on_whole(server->options.user, request);
        return;
    }
    request->body.limit = (size_t)request->body_limit;
    if (request->head.expects_continue &&
        evbuffer_get_length(bufferevent_get_input(c->socket)) == 0) {
        static const char go[] = "HTTP/1.1 100 Continue\r\n\r\n";

        c->added += sizeof(go) - 1;
        (void)bufferevent_write(c->socket, go, sizeof(go) - 1);
    }
    http_enter(c, HTTP_BODY);
}

/* It was one too many, and still is. */
static bool refuse_surplus(struct http_connection *c)
{
    struct error err = {0};

    if (!c->is_surplus || c->peer->count <= c->server->options.max_per_peer)
        return false;
    c->is_closing = true;
    error_set(&err, E_BUSY, "too many connections from one address");
    error_hint(&err, "close some, or reuse them; the operator sets "
                     "`http_connections_per_address`");
    request_answer_error(c->request, &err);
    return true;
}

/* Returns false when more bytes are needed. */
static bool read_head(struct http_connection *c)
{
    struct http_server *server = c->server;
    struct evbuffer *input = bufferevent_get_input(c->socket);
    size_t len = evbuffer_get_length(input);
    struct http_refusal why = {500, "out of memory"};
    struct http_head head;
    const char *data;
    ssize_t n;

    if (len == 0)
        return false;
    if (c->state == HTTP_IDLE)
        http_enter(c, HTTP_HEAD);
    len = len < HTTP_HEAD_BYTES ? len : HTTP_HEAD_BYTES;
    data = (const char *)evbuffer_pullup(input, (ssize_t)len);
    n = data ? http_request_check(data, len, &c->scanned, &head, &why) : -1;
    if (n == 0)
        return false;
    c->scanned = 0;
    if (n < 0 || !new_request(c, data, (size_t)n)) {
        refuse(c, &why);
        return true;
    }
    (void)evbuffer_drain(input, (size_t)n); /* what `head` points into; the request has a copy */
    c->is_closing = server->is_stopping || !c->request->head.keeps_alive;
    c->omits_body = span_is(c->request->head.method, "HEAD");
    if (c->request->head.framing != HTTP_NO_BODY)
        c->is_closing = true; /* unless all of it is read, below */
    if (!refuse_surplus(c) && server->options.on_head(server->options.user, c->request) == 0)
        begin_body(c);
    return true;
}

/* Counts what is held of all bodies together, and of one caller's. Nobody holds so much that
 * others find no room: a body that is never finished is the caller's own loss. */
static int hold(struct http_connection *c, size_t len, struct error *err)
{
    struct http_server *server = c->server;
    const struct share share = {.total = server->options.body_total,
                                .used = server->held,
                                .own = account_of(c)->bodies,
                                .has_others = server->options.has_others(server->options.user)};

    if (!share_allows(&share, len)) {
        error_set(err, E_BUSY, "unfinished requests fill the memory reserved for their bodies");
        return error_hint(err, "send fewer large requests at once, or try again in a moment");
    }
    server->held += len;
    account_of(c)->bodies += len;
    c->held += len;
    return 0;
}

static int keep(struct http_connection *c, struct span piece, struct error *err)
{
    struct request *request = c->request;

    if (piece.len == 0)
        return 0;
    if (request->on_piece)
        return request->on_piece(request, piece.data, piece.len, err);
    if (piece.len > request->body_limit - request->body.len)
        return error_set(err, E_TOO_LARGE, "the body is longer than this route accepts");
    if (hold(c, piece.len, err) < 0)
        return -1;
    return buf_add(&request->body, piece.data, piece.len, err);
}

static bool read_body(struct http_connection *c)
{
    struct http_server *server = c->server;
    struct evbuffer *input = bufferevent_get_input(c->socket);
    size_t len = evbuffer_get_contiguous_space(input);
    struct error err = {0};
    struct span piece;
    size_t used;
    int r;

    if (len == 0)
        return false;
    r = http_body_next(&c->body, (const char *)evbuffer_pullup(input, (ssize_t)len), len, &piece,
                       &used);
    if (r < 0) {
        refuse(c, &(struct http_refusal){400, "the body's chunks are broken"});
        return true;
    }
    if (keep(c, piece, &err) < 0) {
        abandon(c);
        request_answer_error(c->request, &err);
        return true;
    }
    c->received += used;
    (void)evbuffer_drain(input, used);
    if (r == 1) {
        c->is_closing = server->is_stopping || !c->request->head.keeps_alive;
        http_enter(c, HTTP_HANDLING);
        server->options.on_whole(server->options.user, c->request);
    }
    return true;
}

static void go_on(struct http_connection *c)
{
    bool more = true;

    c->is_going_on = true; /* an answer may end the connection under our feet */
    while (more) {
        if (c->state == HTTP_IDLE || c->state == HTTP_HEAD)
            more = read_head(c);
        else if (c->state == HTTP_BODY)
            more = read_body(c);
        else
            more = false;
    }
    c->is_going_on = false;
    if (c->state == HTTP_DEAD)
        free(c);
}

static void go_on_later(void *arg)
{
    go_on(arg);
}

/* Others have taken this turn of the loop: the connection waits for the next one. */
static void go_on_in_turn(struct http_connection *c)
{
    struct loop *loop = c->server->loop;

    if (c->work.loop || loop_is_late(loop))
        loop_work_post(loop, &c->work, go_on_later, c);
    else
        go_on(c);
}

static void on_read(struct bufferevent *socket, void *arg)
{
    struct http_connection *c = arg;
    struct evbuffer *input = bufferevent_get_input(socket);

    loop_mark(c->server->loop);
    if (c->state == HTTP_LINGERING) {
        (void)evbuffer_drain(input, evbuffer_get_length(input));
        return;
    }
    if ((c->state == HTTP_HANDLING || c->state == HTTP_STREAMING || c->state == HTTP_WRITING) &&
        evbuffer_get_length(input) > AHEAD_BYTES) {
        http_cut(c); /* were it not read, its end would not be seen either */
        return;
    }
    go_on_in_turn(c);
}

static void on_write(struct bufferevent *socket, void *arg)
{
    struct http_connection *c = arg;
    size_t left = evbuffer_get_length(bufferevent_get_output(socket));

    loop_mark(c->server->loop);
    if (c->state == HTTP_STREAMING) {
        if (left <= REQUEST_LOW && c->request->on_drained)
            c->request->on_drained(c->request);
        return;
    }
    if (c->state != HTTP_WRITING || left)
        return;
    if (c->is_closing || c->server->is_stopping) {
        linger(c);
        return;
    }
    http_enter(c, HTTP_IDLE);
    go_on_in_turn(c);
}

static void on_event(struct bufferevent *socket, short what, void *arg)
{
    struct http_connection *c = arg;

    (void)socket;
    (void)what;
    http_cut(c); /* the other side is gone, or the socket broke: there is nothing to tell apart */
}

/* --- clocks --- */

/* False: too slow for the window that ends now. */
static bool keeps_pace(struct http_pace *pace, uint64_t bytes, uint64_t now, uint64_t window_ms)
{
    bool is_fine = bytes - pace->bytes >= PACE_BYTES;

    if (now - pace->since_ns < window_ms * 1000000)
        return true;
    *pace = (struct http_pace){now, bytes};
    return is_fine;
}

/* Its patience is over, and there is nothing to say. */
static bool is_overdue(struct http_connection *c, uint64_t now, uint64_t ms)
{
    size_t left = evbuffer_get_length(bufferevent_get_output(c->socket));

    if (left)
        return !keeps_pace(&c->out, c->added - left, now, OUT_PACE_MS);
    c->out = (struct http_pace){now, c->added};
    if (c->greeting && ms >= HEAD_MS)
        return true;
    if (c->state == HTTP_IDLE)
        return c->server->is_stopping || ms >= c->server->options.idle_ms;
    return c->state == HTTP_LINGERING && ms >= LINGER_MS;
}

static void check_clock(struct http_connection *c, uint64_t now)
{
    uint64_t ms = (now - c->since_ns) / 1000000;

    if (is_overdue(c, now, ms))
        http_cut(c);
    else if ((c->state == HTTP_HEAD && ms >= HEAD_MS) ||
             (c->state == HTTP_BODY && !keeps_pace(&c->in, c->received, now, PACE_MS)))
        refuse(c, &(struct http_refusal){408, "the request came too slowly"});
}

static size_t waiting_bytes(const struct http_connection *c)
{
    return evbuffer_get_length(bufferevent_get_output(c->socket));
}

/* Counts the answers of each account anew; returns the sum of all. */
static size_t count_answers(const struct http_server *server)
{
    size_t total = 0;

    for (const struct http_connection *c = server->first; c; c = c->after)
        account_of(c)->answers = 0;
    for (const struct http_connection *c = server->first; c; c = c->after) {
        account_of(c)->answers += waiting_bytes(c);
        total += waiting_bytes(c);
    }
    return total;
}

/* The largest answer of the account that has most. */
static struct http_connection *find_largest(const struct http_server *server)
{
    struct http_connection *largest = NULL;

    for (struct http_connection *c = server->first; c; c = c->after)
        if (waiting_bytes(c) &&
            (!largest || account_of(c)->answers > account_of(largest)->answers ||
             (account_of(c) == account_of(largest) && waiting_bytes(c) > waiting_bytes(largest))))
            largest = c;
    return largest;
}

/* Answers that their readers do not fetch: when they are too much together, whoever has most of
 * them loses the largest. */
static void relieve(struct http_server *server)
{
    size_t total = count_answers(server);
    struct http_connection *largest;

    while (total > server->options.answers_total && (largest = find_largest(server))) {
        size_t len = waiting_bytes(largest);

        total -= len;
        account_of(largest)->answers -= len;
        http_cut(largest);
    }
}

static void on_tick(void *arg)
{
    struct http_server *server = arg;
    uint64_t now = loop_now_ns();

    for (struct http_connection *c = server->first, *next; c; c = next) {
        next = c->after;
        check_clock(c, now);
    }
    relieve(server);
    if (server->is_stopping && server->count == 0) {
        if (server->on_idle)
            server->on_idle(server->on_idle_user);
        return;
    }
    rest_or_listen(server);
    loop_timer_start(server->tick, TICK_MS);
}

/* --- accepting --- */

/* Nothing has been asked that deserves an answer, or the answer is out. */
static bool is_dispensable(const struct http_connection *c)
{
    return c->state == HTTP_IDLE || c->state == HTTP_HEAD || c->state == HTTP_LINGERING;
}

/* Of those that are dispensable, from that place or, with NULL, from any, the one that is so for
 * longest. */
static struct http_connection *find_dispensable(struct http_server *server,
                                                const struct http_peer *peer)
{
    struct http_connection *oldest = NULL;

    for (struct http_connection *c = server->first; c; c = c->after)
        if (is_dispensable(c) && (!peer || c->peer == peer) &&
            (!oldest || c->since_ns < oldest->since_ns))
            oldest = c;
    return oldest;
}

static void make_room(struct http_server *server)
{
    struct http_connection *oldest =
        server->count + 1 < server->options.max_connections ? NULL : find_dispensable(server, NULL);

    if (oldest)
        http_cut(oldest);
}

/* A peer with too many connections loses an idle one, before `c` is in the list. If none is idle,
 * the new one is refused at its first request and is idle until then: the next one takes its
 * place. */
static void keep_to_share(struct http_server *server, struct http_connection *c)
{
    struct http_connection *oldest;

    if (c->peer->count <= server->options.max_per_peer)
        return;
    oldest = find_dispensable(server, c->peer);
    if (oldest)
        http_cut(oldest);
    else
        c->is_surplus = true;
}

static void look_at_peer(struct http_connection *c, int fd, const struct sockaddr *address)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);
    int on = 1;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* answers are whole */
    c->is_unix = address->sa_family == AF_UNIX;
    c->peer_uid = (uid_t)-1;
    if (c->is_unix && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0)
        c->peer_uid = peer.uid;
}

/* One with TLS has a socket without a descriptor until the handshake is over. */
static struct http_connection *new_connection(const struct http_listener *listener, int fd)
{
    struct event_base *base = loop_base(listener->server->loop);
    struct http_connection *c = calloc(1, sizeof(*c));

    if (c) {
        c->server = listener->server;
        c->is_tls = listener->tls != NULL;
        c->account = &listener->server->nobody;
        c->greeting_fd = -1;
        c->socket = bufferevent_socket_new(base, c->is_tls ? -1 : fd, BEV_OPT_CLOSE_ON_FREE);
    }
    if (!c || !c->socket || (c->is_tls && http_greet(c, listener->tls, fd) < 0)) {
        if (c && c->socket)
            bufferevent_free(c->socket);
        if (c)
            http_greet_end(c);
        free(c);
        (void)close(fd);
        return NULL;
    }
    return c;
}

void http_open(struct http_connection *c)
{
    http_enter(c, HTTP_IDLE);
    bufferevent_setcb(c->socket, on_read, on_write, on_event, c);
    bufferevent_setwatermark(c->socket, EV_READ, 0, READ_BYTES);
    (void)bufferevent_enable(c->socket, EV_READ | EV_WRITE);
}

static void on_accept(struct evconnlistener *socket, evutil_socket_t fd, struct sockaddr *address,
                      int address_len, void *arg)
{
    const struct http_listener *listener = arg;
    struct http_server *server = listener->server;
    struct http_connection *c;

    (void)socket;
    (void)address_len;
    loop_mark(server->loop);
    make_room(server);
    c = new_connection(listener, fd);
    if (!c)
        return;
    look_at_peer(c, fd, address);
    c->peer = http_peer_join(&server->peers, address, c->peer_uid);
    if (!c->peer) {
        http_greet_end(c);
        bufferevent_free(c->socket);
        free(c);
        return;
    }
    keep_to_share(server, c);
    c->before = server->last;
    if (server->last)
        server->last->after = c;
    else
        server->first = c;
    server->last = c;
    server->count++;
    if (c->is_tls)
        http_enter(c, HTTP_IDLE);
    else
        http_open(c);
    rest_or_listen(server);
}

/* Out of descriptors, most likely: the listeners rest until the next tick. */
static void on_accept_error(struct evconnlistener *socket, void *arg)
{
    struct http_server *server = ((const struct http_listener *)arg)->server;

    (void)socket;
    for (size_t i = 0; i < server->n_listeners; i++)
        (void)evconnlistener_disable(server->listeners[i].socket);
    server->is_full = true;
}

int http_listen(struct http_server *server, int fd, struct tls *tls, struct error *err)
{
    struct http_listener *listener = &server->listeners[server->n_listeners];

    if (server->n_listeners == HTTP_LISTENERS_MAX) {
        (void)close(fd);
        return error_set(err, E_TOO_LARGE, "at most %d listening sockets", HTTP_LISTENERS_MAX);
    }
    *listener = (struct http_listener){.server = server, .tls = tls};
    listener->socket = evconnlistener_new(loop_base(server->loop), on_accept, listener,
                                          LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
    if (!listener->socket) {
        (void)close(fd);
        return error_memory(err);
    }
    evconnlistener_set_error_cb(listener->socket, on_accept_error);
    server->n_listeners++;
    return 0;
}

/* --- life --- */

int http_new(struct loop *loop, const struct http_options *options, struct http_server **ret_server,
             struct error *err)
{
    struct http_server *server = calloc(1, sizeof(*server));

    if (server) {
        server->loop = loop;
        server->options = *options;
        server->tick = loop_timer(loop, on_tick, server);
    }
    if (!server || !server->tick) {
        free(server);
        return error_memory(err);
    }
    loop_timer_start(server->tick, TICK_MS);
    *ret_server = server;
    return 0;
}

static void close_listeners(struct http_server *server)
{
    for (size_t i = 0; i < server->n_listeners; i++)
        evconnlistener_free(server->listeners[i].socket);
    server->n_listeners = 0;
}

void http_stop(struct http_server *server, void (*on_idle)(void *user), void *user)
{
    close_listeners(server);
    server->is_stopping = true;
    server->on_idle = on_idle;
    server->on_idle_user = user;
    loop_timer_start(server->tick, 0);
}

void http_free(struct http_server *server)
{
    if (!server)
        return;
    close_listeners(server);
    server->is_stopping = true;
    while (server->first)
        http_cut(server->first);
    loop_watch_free(server->tick);
    free(server);
}

void http_level(const struct http_server *server, struct http_level *ret_level)
{
    *ret_level = (struct http_level){server->count, server->n_requests, server->served};
}
