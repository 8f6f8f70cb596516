/* Connections: their clocks, what they send, and the bytes of their answers. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "listener/internal.h"

/* From the first byte of a head to its end: no client needs half of it. */
#define HEAD_MS 10000

/* A body or an answer that moves slower than so many bytes within a window is cut. */
#define PACE_MS    10000
#define PACE_BYTES ((uint64_t)4096)

/* An answer is written into a socket's buffer in jumps, and a phone sleeps. */
#define OUT_PACE_MS 30000

/* After the last answer: what the client still sends is read, since closing on unread bytes would
 * destroy the answer on its way (RFC 9112, 9.6). Until nothing has come for LINGER_MS, and no
 * longer than LINGER_MOST_MS. */
#define LINGER_MS      2000
#define LINGER_MOST_MS 30000

/* Bytes that may wait while a request is being handled: the next one's head. Whoever sends more is
 * not read for so long; then the connection is cut, since its end would not be seen, either. */
#define AHEAD_BYTES HTTP_HEAD_BYTES
#define AHEAD_MS    1000

#define READ_BYTES LISTENER_PIECE

/* The engine hears of what has left when no more than so many bytes wait. */
#define LOW_BYTES LISTENER_PIECE

static void go_on(struct connection *c);

static size_t waiting(const struct connection *c)
{
    return evbuffer_get_length(bufferevent_get_output(c->socket));
}

static void enter(struct connection *c, enum state state)
{
    c->state = state;
    c->since_ns = loop_now_ns();
    c->in = (struct pace){c->since_ns, c->received};
    c->out = (struct pace){c->since_ns, c->added - waiting(c)};
}

static void say_number(struct connection *c, enum listener_type type, uint64_t number)
{
    const uint32_t value = htole32((uint32_t)number);

    say(c->listener, type, c->id, &value, sizeof(value));
}

/* --- the end --- */

/* The engine has let go of it, or is told by connection_close(). */
static void forget(struct connection *c)
{
    struct listener *listener = c->listener;

    loop_work_cancel(&c->work);
    handshake_end(c);
    bufferevent_free(c->socket);
    TAILQ_REMOVE(&listener->connections, c, link);
    listener->slots[(uint32_t)c->id] = NULL;
    http_peer_leave(c->peer);
    c->peer = NULL;
    c->state = DEAD;
    if (!c->is_going_on)
        free(c);
}

void connection_close(struct connection *c)
{
    say(c->listener, LISTENER_GONE, c->id, NULL, 0);
    flush(c->listener);
    forget(c);
}

static void linger(struct connection *c)
{
    struct evbuffer *input = bufferevent_get_input(c->socket);

    enter(c, LINGERING);
    c->heard_ns = c->since_ns;
    if (c->is_tls)
        tls_close(c->socket);
    (void)shutdown(bufferevent_getfd(c->socket), SHUT_WR);
    (void)evbuffer_drain(input, evbuffer_get_length(input));
    (void)bufferevent_enable(c->socket, EV_READ);
}

/* --- requests --- */

/* The engine answers, and the connection ends. Nothing more of it is read. */
static void refuse(struct connection *c, const struct http_refusal *why)
{
    struct pack p;

    pack_init(&p, 8 + LISTENER_WORDS_MAX);
    listener_mistake_write(&p, why);
    say(c->listener, LISTENER_MISTAKE, c->id, p.data, p.len);
    pack_done(&p);
    c->is_refused = true;
    enter(c, HANDLING);
}

static void send_head(struct connection *c, const struct http_head *head, bool is_waiting)
{
    struct pack p;

    pack_init(&p, LISTENER_FRAME_MAX);
    listener_head_write(&p, head, is_waiting);
    if (p.failed)
        _exit(1);
    say(c->listener, LISTENER_HEAD, c->id, p.data, p.len);
    pack_done(&p);
}

/* Returns false when more bytes are needed. */
static bool read_head(struct connection *c)
{
    struct evbuffer *input = bufferevent_get_input(c->socket);
    size_t all = evbuffer_get_length(input), len;
    struct http_refusal why = {500, "out of memory"};
    struct http_head head;
    const char *data;
    ssize_t n;

    if (all == 0)
        return false;
    if (c->state == IDLE)
        enter(c, HEAD);
    len = all < HTTP_HEAD_BYTES ? all : HTTP_HEAD_BYTES;
    data = (const char *)evbuffer_pullup(input, (ssize_t)len);
    n = data ? http_request_check(data, len, &c->scanned, &head, &why) : -1;
    if (n == 0)
        return false;
    c->scanned = 0;
    if (n < 0) {
        refuse(c, &why);
        return true;
    }
    send_head(c, &head, head.expects_continue && all == (size_t)n);
    http_body_init(&c->body, &head);
    c->untaken = 0;
    (void)evbuffer_drain(input, (size_t)n); /* what `head` points into */
    enter(c, head.framing == HTTP_NO_BODY ? HANDLING : BODY);
    return true;
}

/* While it has none, nothing is read: libevent would call us for a full buffer again and again. */
static bool has_room(struct connection *c)
{
    bool is_late = is_behind(c->listener);
    bool is_full = is_late || c->untaken >= LISTENER_WINDOW;

    c->listener->has_stalled |= is_late;
    if (is_full != c->is_stalled)
        (void)(is_full ? bufferevent_disable(c->socket, EV_READ)
                       : bufferevent_enable(c->socket, EV_READ));
    c->is_stalled = is_full;
    return !is_full;
}

static bool read_body(struct connection *c)
{
    struct evbuffer *input = bufferevent_get_input(c->socket);
    size_t len = evbuffer_get_contiguous_space(input);
    struct span piece;
    size_t used;
    int r;

    if (len == 0 || !has_room(c))
        return false;
    len = len < LISTENER_PIECE ? len : LISTENER_PIECE;
    r = http_body_next(&c->body, (const char *)evbuffer_pullup(input, (ssize_t)len), len, &piece,
                       &used);
    if (r < 0) {
        refuse(c, &(struct http_refusal){400, "the body's chunks are broken"});
        return true;
    }
    if (piece.len)
        say(c->listener, LISTENER_BODY, c->id, piece.data, piece.len);
    c->untaken += piece.len;
    c->received += used;
    (void)evbuffer_drain(input, used);
    if (r == 1) {
        say(c->listener, LISTENER_WHOLE, c->id, NULL, 0);
        enter(c, HANDLING);
    }
    return true;
}

/* --- another protocol --- */

static void send_frame(struct connection *c, const struct websocket_piece *piece)
{
    uint8_t *flags = piece->data - 1; /* in front of it is what is done with */

    *flags = piece->flags;
    say(c->listener, LISTENER_FRAME, c->id, flags, piece->len + 1);
    c->untaken += listener_cost(piece->len + 1);
}

/* As many as there are, and as there is room for. `data` has a byte in front of it. Returns what is
 * done with. */
static size_t read_frames(struct connection *c, uint8_t *data, size_t len)
{
    struct websocket_piece piece;
    size_t at = 0, used;
    int code, r = 1;

    while (r > 0 && at < len && has_room(c)) {
        r = websocket_read(&c->frames, data + at, len - at, &piece, &used, &code);
        at += used;
        if (r > 0)
            send_frame(c, &piece);
    }
    if (r >= 0)
        return at;
    say_number(c, LISTENER_BROKEN, (uint64_t)code);
    c->is_refused = true;
    enter(c, HANDLING);
    return len;
}

static bool read_open(struct connection *c)
{
    static uint8_t bytes[1 + LISTENER_PIECE];
    struct evbuffer *input = bufferevent_get_input(c->socket);
    size_t len, used;

    if (!evbuffer_get_length(input) || !has_room(c))
        return false;
    len = used = (size_t)evbuffer_copyout(input, bytes + 1, LISTENER_PIECE - 1);
    if (c->frames.order.max) {
        used = read_frames(c, bytes + 1, len);
    } else {
        say(c->listener, LISTENER_BODY, c->id, bytes + 1, len);
        c->untaken += len;
    }
    (void)evbuffer_drain(input, used);
    return used > 0;
}

static void go_on(struct connection *c)
{
    bool more = true;

    c->is_going_on = true; /* an error may end the connection under our feet */
    while (more) {
        if (c->state == IDLE || c->state == HEAD)
            more = read_head(c);
        else if (c->state == BODY)
            more = read_body(c);
        else
            more = c->state == OPEN && read_open(c);
    }
    c->is_going_on = false;
    if (c->state == DEAD)
        free(c);
}

static void go_on_later(void *arg)
{
    struct connection *c = arg;
    struct listener *listener = c->listener;

    go_on(c);
    flush(listener);
}

/* Others have taken this turn of the loop: the connection waits for the next one. */
static void go_on_in_turn(struct connection *c)
{
    struct loop *loop = c->listener->loop;

    if (c->work.loop || loop_is_late(loop))
        loop_work_post(loop, &c->work, go_on_later, c);
    else
        go_on_later(c);
}

/* Its bytes are read and thrown away. */
static bool is_ignored(const struct connection *c)
{
    return c->state == LINGERING || c->is_refused || (c->state == WRITING && c->is_closing);
}

/* libevent reads 4 KB at a time. Of a body that is there, a whole piece is taken at once: each
 * costs a turn here and one in the engine. What ends the connection is left for libevent to see. */
static void read_more(struct connection *c)
{
    struct evbuffer *input = bufferevent_get_input(c->socket);
    size_t len = evbuffer_get_length(input);
    struct evbuffer_iovec room;
    ssize_t n;

    if ((c->state != BODY && c->state != OPEN && !is_ignored(c)) || c->is_tls || c->is_stalled ||
        len >= READ_BYTES)
        return;
    (void)evbuffer_unfreeze(input, 0);
    if (evbuffer_reserve_space(input, (ssize_t)(READ_BYTES - len), &room, 1) == 1) {
        if (room.iov_len > READ_BYTES - len)
            room.iov_len = READ_BYTES - len;
        n = read(bufferevent_getfd(c->socket), room.iov_base, room.iov_len);
        room.iov_len = n > 0 ? (size_t)n : 0;
        (void)evbuffer_commit_space(input, &room, 1);
    }
    (void)evbuffer_freeze(input, 0);
}

static void on_read(struct bufferevent *socket, void *arg)
{
    struct connection *c = arg;
    struct evbuffer *input = bufferevent_get_input(socket);

    read_more(c);
    if (is_ignored(c)) {
        c->heard_ns = loop_now_ns();
        (void)evbuffer_drain(input, evbuffer_get_length(input));
        return;
    }
    if (c->state == HANDLING || c->state == WRITING) {
        c->is_ahead = evbuffer_get_length(input) > AHEAD_BYTES;
        if (c->is_ahead)
            (void)bufferevent_disable(socket, EV_READ);
        return;
    }
    go_on_in_turn(c);
}

/* --- answers --- */

/* The engine learns what has left: at once where it may wait for room. */
static void tell_written(struct connection *c)
{
    uint64_t written = c->added - waiting(c);
    const uint32_t value = htole32((uint32_t)(written - c->told));

    if (!value)
        return;
    (written - c->told < LOW_BYTES ? say_later : say)(c->listener, LISTENER_WRITTEN, c->id, &value,
                                                      sizeof(value));
    c->told = written;
}

/* The answer is over, and all of it has left. */
static void finish(struct connection *c)
{
    if (c->is_closing || c->listener->is_stopping) {
        linger(c);
        return;
    }
    enter(c, IDLE);
    if (c->is_ahead)
        (void)bufferevent_enable(c->socket, EV_READ);
    c->is_ahead = false;
    go_on_in_turn(c);
}

static void on_write(struct bufferevent *socket, void *arg)
{
    struct connection *c = arg;
    struct listener *listener = c->listener;

    (void)socket;
    tell_written(c);
    if (c->state == WRITING && !waiting(c))
        finish(c);
    flush(listener);
}

static void on_event(struct bufferevent *socket, short what, void *arg)
{
    (void)socket;
    (void)what;
    connection_close(arg); /* the other side is gone, or the socket broke: it is the same */
}

static void on_end(struct connection *c, bool is_closing)
{
    if (c->is_stalled)
        (void)bufferevent_enable(c->socket, EV_READ);
    c->is_stalled = false;
    c->is_closing = is_closing;
    enter(c, WRITING);
    if (waiting(c) == 0)
        finish(c);
}

static void on_open(struct connection *c, uint32_t max_message)
{
    c->frames = (struct websocket_reader){.order.max = max_message};
    c->untaken = 0;
    enter(c, OPEN);
    if (c->is_ahead)
        (void)bufferevent_enable(c->socket, EV_READ);
    c->is_ahead = false;
    go_on_in_turn(c);
}

/* Bytes that the socket takes at once need not wait for a turn of the loop. An error is left for
 * libevent to see. */
static size_t write_now(struct connection *c, const struct listener_frame *frame)
{
    ssize_t n =
        c->is_tls || waiting(c) ? 0 : write(bufferevent_getfd(c->socket), frame->data, frame->len);

    return n > 0 ? (size_t)n : 0;
}

static void on_data(struct connection *c, const struct listener_frame *frame)
{
    size_t written = write_now(c, frame);

    c->added += frame->len;
    if (written < frame->len &&
        bufferevent_write(c->socket, frame->data + written, frame->len - written) < 0) {
        connection_close(c);
        return;
    }
    if (written)
        tell_written(c);
}

static void handle(struct connection *c, const struct listener_frame *frame)
{
    switch (frame->type) {
    case LISTENER_DATA:
        on_data(c, frame);
        break;
    case LISTENER_END:
        on_end(c, listener_number(frame) != 0);
        break;
    case LISTENER_OPEN:
        on_open(c, listener_number(frame));
        break;
    case LISTENER_TAKEN:
        c->untaken -= listener_number(frame);
        if (c->is_stalled)
            go_on_in_turn(c);
        break;
    default: /* CUT */
        forget(c);
        break;
    }
}

bool connection_frame(struct listener *listener, const struct listener_frame *frame)
{
    uint32_t at = (uint32_t)frame->connection;
    struct connection *c = at < listener->n_slots ? listener->slots[at] : NULL;

    if (!c || c->id != frame->connection)
        return false;
    handle(c, frame);
    return true;
}

void connections_go_on(struct listener *listener)
{
    for (struct connection *c = TAILQ_FIRST(&listener->connections), *next; c; c = next) {
        next = TAILQ_NEXT(c, link);
        if (c->is_stalled)
            go_on_in_turn(c);
    }
}

/* --- clocks --- */

/* False: too slow for the window that ends now. */
static bool keeps_pace(struct pace *pace, uint64_t bytes, uint64_t now, uint64_t window_ms)
{
    bool is_fine = bytes - pace->bytes >= PACE_BYTES;

    if (now - pace->since_ns < window_ms * 1000000)
        return true;
    *pace = (struct pace){now, bytes};
    return is_fine;
}

/* While the server stops, a client that goes on sending does not hold it up. */
static bool has_lingered(const struct connection *c, uint64_t now, uint64_t ms)
{
    uint64_t most_ms = c->listener->is_stopping ? LINGER_MS : LINGER_MOST_MS;

    return c->state == LINGERING && (ms >= most_ms || now - c->heard_ns >= LINGER_MS * 1000000ULL);
}

/* Its patience is over, and there is nothing to say. */
static bool is_overdue(struct connection *c, uint64_t now, uint64_t ms)
{
    size_t left = waiting(c);

    if (c->is_ahead && ms >= AHEAD_MS)
        return true;
    if (left)
        return !keeps_pace(&c->out, c->added - left, now, OUT_PACE_MS);
    c->out = (struct pace){now, c->added};
    if (c->greeting && ms >= HEAD_MS)
        return true;
    if (c->state == IDLE)
        return c->listener->is_stopping || ms >= c->listener->idle_ms;
    return has_lingered(c, now, ms);
}

/* A body for which the engine has no room is not the client's delay. */
static bool is_slow(struct connection *c, uint64_t now, uint64_t ms)
{
    if (c->state == BODY && c->is_stalled)
        c->in = (struct pace){now, c->received};
    return (c->state == HEAD && ms >= HEAD_MS) ||
           (c->state == BODY && !keeps_pace(&c->in, c->received, now, PACE_MS));
}

static void check_clock(struct connection *c, uint64_t now)
{
    uint64_t ms = (now - c->since_ns) / 1000000;

    if (is_overdue(c, now, ms))
        connection_close(c);
    else if (is_slow(c, now, ms))
        refuse(c, &(struct http_refusal){408, "the request came too slowly"});
}

void connections_tick(struct listener *listener)
{
    uint64_t now = loop_now_ns();

    for (struct connection *c = TAILQ_FIRST(&listener->connections), *next; c; c = next) {
        next = TAILQ_NEXT(c, link);
        check_clock(c, now);
    }
    flush(listener);
}

/* --- the beginning --- */

void connection_open(struct connection *c)
{
    enter(c, IDLE);
    bufferevent_setcb(c->socket, on_read, on_write, on_event, c);
    /* Twice as many as read_more() takes: at the mark libevent takes the socket out of the loop. */
    bufferevent_setwatermark(c->socket, EV_READ, 0, 2 * READ_BYTES);
    bufferevent_setwatermark(c->socket, EV_WRITE, LOW_BYTES, 0);
    (void)bufferevent_enable(c->socket, EV_READ | EV_WRITE);
}

static bool has_slot(struct listener *listener, uint32_t at)
{
    size_t more = listener->n_slots ? listener->n_slots : 64;
    struct connection **grown;

    if (at < listener->n_slots)
        return true;
    while (more <= at)
        more *= 2;
    grown = reallocarray(listener->slots, more, sizeof(struct connection *));
    if (!grown)
        return false;
    memset(grown + listener->n_slots, 0, (more - listener->n_slots) * sizeof(struct connection *));
    listener->slots = grown;
    listener->n_slots = more;
    return true;
}

/* One with TLS has a socket without a descriptor until the handshake is over. */
static struct connection *make(struct listener *listener, const struct listener_connection *what,
                               int fd)
{
    struct connection *c =
        has_slot(listener, (uint32_t)what->connection) ? calloc(1, sizeof(*c)) : NULL;

    if (!c)
        return NULL;
    c->listener = listener;
    c->id = what->connection;
    c->is_tls = what->is_tls;
    c->greeting_fd = -1;
    c->peer = http_peer_join(&listener->peers, what->peer);
    c->socket = c->peer ? bufferevent_socket_new(loop_base(listener->loop), c->is_tls ? -1 : fd,
                                                 BEV_OPT_CLOSE_ON_FREE)
                        : NULL;
    if (c->socket && (!c->is_tls || (listener->tls && handshake_begin(c, fd) == 0)))
        return c;
    if (c->socket) {
        (void)bufferevent_setfd(c->socket, -1); /* the caller's */
        bufferevent_free(c->socket);
    }
    handshake_end(c);
    http_peer_leave(c->peer);
    free(c);
    return NULL;
}

/* The engine uses a number again when it has cut the connection that had it. The word of that is
 * on the other socket, and may come later. */
static void clear_slot(struct listener *listener, uint32_t at)
{
    if (at < listener->n_slots && listener->slots[at])
        forget(listener->slots[at]);
}

void connection_new(struct listener *listener, const struct listener_connection *what, int fd)
{
    struct connection *c;

    clear_slot(listener, (uint32_t)what->connection);
    c = fd < 0 ? NULL : make(listener, what, fd);
    if (!c) {
        if (fd >= 0)
            (void)close(fd);
        say(listener, LISTENER_GONE, what->connection, NULL, 0);
        flush(listener);
        return;
    }
    listener->slots[(uint32_t)c->id] = c;
    TAILQ_INSERT_TAIL(&listener->connections, c, link);
    if (c->is_tls)
        enter(c, IDLE);
    else
        connection_open(c);
}
