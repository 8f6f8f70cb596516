/* Servers in a session, reached by clients: `/v1/sessions/ID/ports/PORT/...`. A request goes to the
 * server over a connection of its own, which pid 1 of the sandbox made (engine/box_port.c); the
 * answer comes back as it does. What the server sends is a stranger's. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "admit/quota.h"
#include "api/api.h"
#include "api/port_head.h"
#include "api/router.h"
#include "base/cleanup.h"
#include "engine/masking.h"

/* Read at once; masking this much takes about a millisecond. */
#define READ_BYTES ((size_t)(16 * KIB))

/* On its way to the server: the head, and the window of a connection with its framing. */
#define OUT_BYTES ((size_t)(2 * MIB))

#define HEADERS_BYTES ((size_t)(8 * KIB))

/* Heads before the answer (RFC 9110, 15.2). */
#define INTERIM_MAX 16

static const struct http_limits limits = {16 * KIB, 100, "the head is longer than 16 KB",
                                          "there are more than 100 headers"};

enum state { PORT_HEAD, PORT_BODY, PORT_OPEN };

struct port {
    struct api *api;
    struct request *request;
    struct caller *caller;
    struct port_head head;
    enum state state;
    struct box_port *waiting; /* for the connection; NULL: no longer */
    bool is_chunked;          /* the body of the request */
    bool is_masked;           /* the answer */
    bool upgrades;
    bool is_behind; /* the client does not read */
    int fd;
    struct loop_watch *readable, *writable;
    struct loop_work taking; /* what the server sent, when it is the token's turn */
    unsigned interim;
    struct buf out; /* for the server */
    size_t untaken; /* bytes of the body in it, or of the other protocol */
    struct buf in;  /* the head of the answer */
    size_t scanned;
    struct http_body body;
    struct masker *masker;
    struct mask_context masks;
    uint64_t unspent; /* bytes in both directions */
};

/* --- the end --- */

static void free_port(struct port *p)
{
    if (p->waiting)
        box_connect_forget(p->waiting);
    quota_spend(p->caller, loop_now_ns(), 0, (double)p->unspent);
    loop_work_cancel(&p->taking);
    loop_watch_free(p->readable);
    loop_watch_free(p->writable);
    close_fd(&p->fd);
    mask_stream_free(&p->masker);
    buf_done(&p->out);
    buf_done(&p->in);
    free(p);
}

/* Before the answer has begun it is an error of its own, afterwards a connection that breaks. */
static void fail(struct port *p, struct error *err)
{
    struct request *request = p->request;
    bool has_begun = p->state != PORT_HEAD;

    free_port(p);
    request->on_gone = NULL;
    if (has_begun) {
        error_done(err);
        request_abort(request);
    } else {
        request_answer_error(request, err);
    }
}

static void fail_as(struct port *p, const char *what)
{
    struct error err = {0};

    error_set(&err, E_PROTOCOL, "the server at port %u of the session %s", p->head.port, what);
    fail(p, &err);
}

static void finish(struct port *p)
{
    struct request *request = p->request;
    struct clean_text rest;

    if (p->is_masked && p->masker) {
        rest = mask_stream_end(p->masks, &p->masker);
        (void)request_write(request, clean_data(rest), clean_len(rest));
    }
    free_port(p);
    request->on_gone = NULL;
    request_end(request);
}

static void on_gone(struct request *request)
{
    free_port(request->user);
}

static void on_stop(struct request *request)
{
    finish(request->user);
}

/* --- to the server --- */

static void on_writable(void *arg);

/* Bytes that a server no longer reads are thrown away: its answer may be there. */
static void send_out(struct port *p)
{
    ssize_t n = 0;

    if (p->out.len && p->fd >= 0)
        n = send(p->fd, p->out.data, p->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (p->fd < 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
        n = 0;
    buf_consume(&p->out, n < 0 ? p->out.len : (size_t)n);
    if (!p->out.len && p->untaken) {
        request_taken(p->request, p->untaken);
        p->untaken = 0;
    }
    if (p->fd >= 0 && p->out.len && !p->writable)
        p->writable = loop_watch_fd(p->api->loop, p->fd, LOOP_WRITE, on_writable, p);
    if (!p->out.len) {
        loop_watch_free(p->writable);
        p->writable = NULL;
    }
}

static void on_writable(void *arg)
{
    send_out(arg);
}

static int add_piece(struct port *p, const void *data, size_t len, struct error *err)
{
    if (p->is_chunked && buf_printf(&p->out, err, "%zx\r\n", len) < 0)
        return -1;
    if (buf_add(&p->out, data, len, err) < 0 ||
        (p->is_chunked && buf_add_str(&p->out, "\r\n", err) < 0))
        return -1;
    p->untaken += len;
    p->unspent += len;
    return 0;
}

/* A failure is answered by the caller, after on_gone. */
static int on_piece(struct request *request, const void *data, size_t len, struct error *err)
{
    struct port *p = request->user;

    if (add_piece(p, data, len, err) < 0)
        return -1;
    send_out(p);
    return 0;
}

static int on_bytes(struct request *request, unsigned flags, const void *data, size_t len)
{
    struct port *p = request->user;
    struct error err = {0};

    (void)flags;
    if (!route_is_still_known(request))
        error_set(&err, E_AUTH, "the token was removed");
    if (err.code != E_NONE || add_piece(p, data, len, &err) < 0)
        fail(p, &err);
    else
        send_out(p);
    return 0;
}

/* --- from the server --- */

static void on_readable(void *arg);

static void stop_reading(struct port *p)
{
    loop_watch_free(p->readable);
    p->readable = NULL;
}

static void read_on(struct port *p)
{
    if (!p->readable && !p->is_behind && !p->taking.loop)
        p->readable = loop_watch_fd(p->api->loop, p->fd, LOOP_READ, on_readable, p);
}

static void on_drained(struct request *request)
{
    struct port *p = request->user;

    p->is_behind = false;
    read_on(p);
}

static void give(struct port *p, const char *data, size_t len)
{
    struct clean_text clean;
    bool has_room;

    p->unspent += len;
    if (p->is_masked) {
        clean = mask_stream(p->masks, &p->masker, data, len);
        has_room = request_write(p->request, clean_data(clean), clean_len(clean));
    } else {
        has_room = request_write(p->request, data, len);
    }
    p->is_behind = p->is_behind || !has_room;
}

static void open_tunnel(struct port *p, const char *headers)
{
    struct request *request = p->request;

    p->state = PORT_OPEN;
    p->is_chunked = false;
    request->on_bytes = on_bytes;
    request->on_stop = on_stop;
    request_upgrade(request, headers, 0);
}

static uint64_t length_of(const struct port *p, const struct http_head *head)
{
    if (head->framing == HTTP_NO_BODY)
        return 0;
    return head->framing == HTTP_LENGTH && !p->is_masked ? head->length : REQUEST_UNKNOWN_LENGTH;
}

/* Returns false when `p` is gone. */
static bool begin_answer(struct port *p, const struct http_head *head)
{
    cleanup(buf_done) struct buf headers = BUF_OF(HEADERS_BYTES);
    struct error err = {0};

    if (head->status == 101 && !p->upgrades) {
        fail_as(p, "changed the protocol without being asked to");
        return false;
    }
    p->is_masked = head->status != 101 && head->framing != HTTP_NO_BODY && port_head_is_text(head);
    if (port_head_answer(head, &p->head, p->is_masked, &headers, &err) < 0) {
        error_done(&err);
        fail_as(p, "answered with headers that are too long");
        return false;
    }
    if (head->status == 101) {
        open_tunnel(p, buf_str(&headers));
        return true;
    }
    p->state = PORT_BODY;
    http_body_init(&p->body, head);
    request_begin(p->request, head->status, NULL, buf_str(&headers), length_of(p, head));
    if (head->framing != HTTP_NO_BODY)
        return true;
    finish(p);
    return false;
}

/* Returns false when `p` is gone. */
static bool take_body(struct port *p, const char *data, size_t len)
{
    while (len) {
        struct span piece;
        size_t used;
        int r = http_body_next(&p->body, data, len, &piece, &used);

        if (r < 0) {
            fail_as(p, "sent a body with broken chunks");
            return false;
        }
        if (piece.len)
            give(p, piece.data, piece.len);
        if (r == 1) {
            finish(p);
            return false;
        }
        data += used;
        len -= used;
    }
    return true;
}

/* Returns false when `p` is gone. */
static bool take_head(struct port *p)
{
    struct http_refusal why;
    struct http_head head;
    ssize_t n;

    while (p->state == PORT_HEAD && (n = http_read_response(buf_str(&p->in), p->in.len, &limits,
                                                            &p->scanned, &head, &why)) != 0) {
        bool is_last = n > 0 && (head.status >= 200 || head.status == 101);

        if (n < 0 || (!is_last && ++p->interim > INTERIM_MAX)) {
            fail_as(p, "does not speak HTTP as it should");
            return false;
        }
        p->scanned = 0;
        if (is_last && !begin_answer(p, &head))
            return false;
        buf_consume(&p->in, (size_t)n);
    }
    if (p->state == PORT_OPEN && p->in.len)
        give(p, p->in.data, p->in.len);
    else if (p->state == PORT_BODY && !take_body(p, buf_str(&p->in), p->in.len))
        return false;
    if (p->state != PORT_HEAD)
        buf_clear(&p->in);
    return true;
}

/* Returns false: `p` is gone. */
static bool on_end(struct port *p)
{
    bool is_whole =
        p->state == PORT_OPEN || (p->state == PORT_BODY && p->body.framing == HTTP_UNTIL_CLOSE);

    if (is_whole)
        finish(p);
    else
        fail_as(p, "closed the connection before its answer was whole");
    return false;
}

/* Returns false when `p` is gone. */
static bool take(struct port *p)
{
    char data[READ_BYTES];
    ssize_t n = recv(p->fd, data, sizeof(data), MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (n <= 0)
        return on_end(p);
    if (p->state == PORT_BODY)
        return take_body(p, data, (size_t)n);
    if (p->state == PORT_OPEN) {
        give(p, data, (size_t)n);
        return true;
    }
    if (buf_add(&p->in, data, (size_t)n, NULL) == 0)
        return take_head(p);
    fail_as(p, "answered with a head that is too long");
    return false;
}

/* An answer goes on when the token has used up what it may, but not for ever. */
static bool is_paid(struct port *p, double cpu_s)
{
    struct error err = {0};
    uint64_t now = loop_now_ns();

    quota_spend(p->caller, now, cpu_s, (double)p->unspent);
    p->unspent = 0;
    if (!quota_is_overdrawn(p->caller, now))
        return true;
    error_set(&err, E_BUSY, "this token has used up what it may pass through ports");
    fail(p, &err);
    return false;
}

/* Reading and masking take our time, which is shared among tokens. */
static void take_piece(void *arg)
{
    struct port *p = arg;
    struct caller *caller = p->caller;
    uint64_t began_ns = loop_cpu_ns();
    bool lives = take(p);
    double cpu_s = (double)(loop_cpu_ns() - began_ns) / 1e9;

    if (!lives)
        quota_spend(caller, loop_now_ns(), cpu_s, 0);
    else if (is_paid(p, cpu_s))
        read_on(p);
}

static void on_readable(void *arg)
{
    struct port *p = arg;

    stop_reading(p);
    loop_line_post(p->api->loop, &p->caller->line, &p->taking, take_piece, p);
}

static void on_connected(void *user, int fd, const struct error *err)
{
    struct port *p = user;
    struct error copy = {0};

    p->waiting = NULL;
    if (fd < 0) {
        error_copy(&copy, err);
        fail(p, &copy);
        return;
    }
    p->fd = fd;
    read_on(p);
    send_out(p);
}

/* --- the request --- */

static struct port *new_port(struct request *request, const struct session *session)
{
    const struct mask_context masks = session_masks(session);
    struct port *p = calloc(1, sizeof(*p));

    if (!p)
        return NULL;
    p->api = request->api;
    p->request = request;
    p->caller = request->caller;
    p->fd = -1;
    p->masks = (struct mask_context){.level = masks.level, .masks = masks.masks};
    p->is_chunked = request->head.framing == HTTP_CHUNKED;
    p->upgrades = port_head_upgrades(&request->head);
    buf_init(&p->out, OUT_BYTES);
    buf_init(&p->in, limits.bytes + READ_BYTES);
    return p;
}

int api_port_begin(struct request *request, struct session *session, struct error *err)
{
    struct port_head head;
    struct port *p;

    if (!session || port_head_read(request, &head, err) < 0 ||
        admission_check_session(request->caller, session, err) < 0 ||
        quota_check_bytes(request->caller, loop_now_ns(), &request->retry_s, err) < 0)
        return -1;
    p = new_port(request, session);
    if (!p)
        return error_memory(err);
    p->head = head;
    if (port_head_write(request, &p->head, &p->out, err) < 0 ||
        session_connect(session, p->head.port, on_connected, p, &p->waiting, err) < 0) {
        free_port(p);
        return -1;
    }
    request->user = p;
    request->takes_itself = true;
    request->on_piece = on_piece;
    request->on_gone = on_gone;
    request->on_drained = on_drained;
    return 0;
}

static int begin(struct request *request, struct error *err)
{
    const struct api *api = request->api;
    struct session *session = sessions_find(api->sessions, request->owner, request->params[0], err);

    return session ? api_port_begin(request, session, err) : -1;
}

/* The body is whole. */
void api_port_handle(struct request *request)
{
    struct port *p = request->user;

    if (p->is_chunked)
        (void)buf_add_str(&p->out, "0\r\n\r\n", NULL);
    send_out(p);
}

/* clang-format off */
#define ROW(method_)                                                                               \
    {method_, "/v1/sessions/{session}/ports/{port...}", api_port_handle, .begin = begin,                    \
     .max_body = UINT64_MAX / 2, .passes_query = true, .status = 200, .is_unlisted = true,         \
     .summary = "a server that runs in the session"}

const struct route api_port_routes[] = {
    ROW("GET"), ROW("POST"), ROW("PUT"), ROW("PATCH"), ROW("DELETE"), ROW("OPTIONS"),
    {0},
};
/* clang-format on */
