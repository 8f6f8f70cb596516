#include "http/websocket.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "http/listener_message.h"

#define KEY_LEN ((size_t)24)

/* Pieces with their lengths, while a message is being handled. */
#define WAITING_MAX ((size_t)(2 * (LISTENER_WINDOW + 2 * LISTENER_PIECE)))

/* Frames for a client that does not read, beyond what a connection holds. Who sends waits for it,
 * but messages that others cause do not. */
#define UNREAD_MAX ((size_t)(4 * MIB))

struct websocket {
    struct request *request;
    struct websocket_options options;
    struct websocket_order order;
    struct buf message;
    struct buf waiting;    /* struct waiting and its bytes, one behind the other */
    bool is_text;          /* the message */
    bool is_busy;          /* the message is whole and not done with */
    bool is_behind;        /* the client does not read, */
    size_t unread;         /* and so much was sent since then; */
    bool is_lost;          /* it was too much, and the end comes from the loop */
    struct loop_work work; /* the message waits for its turn */
    struct loop_watch *timer;
    uint64_t heard_ns;
};

struct waiting {
    uint32_t len;
    uint32_t flags;
};

/* --- the beginning --- */

void websocket_accept_key(struct span key, char text[WEBSOCKET_ACCEPT_SIZE])
{
    static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    cleanup(buf_done) struct buf out = BUF_OF(WEBSOCKET_ACCEPT_SIZE);
    char joined[KEY_LEN + sizeof(guid)];
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;

    (void)snprintf(joined, sizeof(joined), "%.*s%s", (int)KEY_LEN, key.data, guid);
    text[0] = '\0';
    if (EVP_Digest(joined, strlen(joined), digest, &len, EVP_sha1(), NULL) == 1 &&
        base64_add(&out, digest, len, NULL) == 0)
        (void)snprintf(text, WEBSOCKET_ACCEPT_SIZE, "%s", buf_str(&out));
}

/* 16 bytes. */
static bool is_key(struct span key)
{
    cleanup(buf_done) struct buf bytes = BUF_OF(KEY_LEN);
    cleanup_error struct error ignored = {0};

    return key.len == KEY_LEN && base64_decode(&bytes, key.data, key.len, &ignored) == 0 &&
           bytes.len == 16;
}

bool websocket_is_asked(struct request *request)
{
    static const char needed[] = "Connection: Upgrade\r\nUpgrade: websocket\r\n"
                                 "Sec-WebSocket-Version: 13\r\n";
    const struct http_head *head = &request->head;
    struct error err = {0};

    if (head->is_old || !http_head_lists(head, "connection", (struct span){"upgrade", 7}) ||
        !http_head_lists(head, "upgrade", (struct span){"websocket", 9})) {
        error_set(&err, E_INVALID, "this path is for WebSocket");
        error_hint(&err, "connect with a WebSocket client, to ws:// or wss://");
        request_answer_error_as(request, 426, needed, &err);
        return false;
    }
    if (!span_is(request_header(request, "sec-websocket-version"), "13")) {
        error_set(&err, E_INVALID, "only version 13 of WebSocket is supported");
        request_answer_error_as(request, 426, needed, &err);
        return false;
    }
    if (http_head_count(head, "sec-websocket-key") != 1 ||
        !is_key(request_header(request, "sec-websocket-key"))) {
        error_set(&err, E_INVALID, "`Sec-WebSocket-Key` is not 16 bytes in base64");
        request_answer_error(request, &err);
        return false;
    }
    return true;
}

bool websocket_offers(const struct request *request, const char *protocol)
{
    return http_head_lists(&request->head, "sec-websocket-protocol",
                           (struct span){protocol, strlen(protocol)});
}

/* --- the end --- */

static void free_socket(struct websocket *ws)
{
    loop_work_cancel(&ws->work);
    loop_watch_free(ws->timer);
    buf_done(&ws->message);
    buf_done(&ws->waiting);
    free(ws);
}

/* The owner learns of it. */
static void tell_end(struct websocket *ws)
{
    const struct websocket_options options = ws->options;

    free_socket(ws);
    options.on_closed(options.user);
}

static bool send_frame(struct websocket *ws, unsigned opcode, const void *data, size_t len)
{
    uint8_t header[WEBSOCKET_HEADER_MAX];
    bool has_room;

    if (!ws->is_lost && ws->unread > UNREAD_MAX) {
        ws->is_lost = true;
        loop_timer_start(ws->timer, 0);
    }
    if (ws->is_lost)
        return false;
    ws->unread += ws->is_behind ? sizeof(header) + len : 0;
    has_room = request_write(ws->request, header, websocket_header(header, opcode, len));

    if (len)
        has_room = request_write(ws->request, data, len);
    ws->is_behind = ws->is_behind || !has_room;
    return has_room;
}

static void say_close(struct websocket *ws, int code, const char *why)
{
    char text[WEBSOCKET_CONTROL_MAX + 1];
    const uint16_t number = htobe16((uint16_t)code);
    size_t len = strlen(why);

    len =
        len < WEBSOCKET_CONTROL_MAX - sizeof(number) ? len : WEBSOCKET_CONTROL_MAX - sizeof(number);
    memcpy(text, &number, sizeof(number));
    (void)snprintf(text + sizeof(number), len + 1, "%s", why);
    (void)send_frame(ws, WEBSOCKET_CLOSE, text, sizeof(number) + len);
    ws->request->on_gone = NULL;
    if (ws->is_lost)
        request_abort(ws->request);
    else
        request_end(ws->request);
}

void websocket_close(struct websocket *ws, int code, const char *why)
{
    say_close(ws, code, why);
    free_socket(ws);
}

static void end(struct websocket *ws, int code, const char *why)
{
    say_close(ws, code, why);
    tell_end(ws);
}

/* --- what the client sends --- */

static void give_message(void *arg)
{
    struct websocket *ws = arg;

    ws->options.on_message(ws->options.user, ws->is_text, buf_str(&ws->message), ws->message.len);
}

/* A reason that a client may give. */
static bool is_code(unsigned code)
{
    return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
           (code >= 3000 && code <= 4999);
}

static void on_close(struct websocket *ws, const uint8_t *data, size_t len)
{
    unsigned code = len >= 2 ? (unsigned)data[0] << 8 | data[1] : WEBSOCKET_NORMAL;

    end(ws, len != 1 && is_code(code) ? (int)code : WEBSOCKET_PROTOCOL, "");
}

static int add(struct websocket *ws, const void *data, size_t len)
{
    struct error err = {0};
    int r = request_hold(ws->request, len, &err);

    if (r == 0 && len)
        r = buf_add(&ws->message, data, len, &err);
    error_done(&err);
    return r;
}

/* Returns false when the socket is gone. */
static bool take_data(struct websocket *ws, unsigned flags, const void *data, size_t len)
{
    unsigned opcode = flags & ~(unsigned)WEBSOCKET_LAST;

    if (opcode != WEBSOCKET_MORE)
        ws->is_text = opcode == WEBSOCKET_TEXT;
    if (add(ws, data, len) < 0) {
        end(ws, WEBSOCKET_TRY_LATER, "unfinished messages fill the memory reserved for them");
        return false;
    }
    if (flags & WEBSOCKET_LAST) {
        ws->is_busy = true;
        loop_line_post(ws->options.loop, ws->options.line, &ws->work, give_message, ws);
    }
    return true;
}

static bool take(struct websocket *ws, unsigned flags, const void *data, size_t len)
{
    unsigned opcode = flags & ~(unsigned)WEBSOCKET_LAST;

    request_taken(ws->request, len);
    if (opcode == WEBSOCKET_CLOSE) {
        on_close(ws, data, len);
        return false;
    }
    if (opcode == WEBSOCKET_PING)
        (void)send_frame(ws, WEBSOCKET_PONG, data, len);
    return websocket_is_control(opcode) || take_data(ws, flags, data, len);
}

static bool has_to_wait(const struct websocket *ws)
{
    return ws->is_busy || ws->is_behind;
}

static int on_bytes(struct request *request, unsigned flags, const void *data, size_t len)
{
    struct websocket *ws = request->user;
    const struct waiting entry = {(uint32_t)len, flags};

    if (websocket_order_next(&ws->order, flags, len) != 0)
        return -1; /* the listener has seen to it */
    ws->heard_ns = loop_now_ns();
    if (!has_to_wait(ws) && !ws->waiting.len) {
        (void)take(ws, flags, data, len);
        return 0;
    }
    if (buf_add(&ws->waiting, &entry, sizeof(entry), NULL) < 0 ||
        (len && buf_add(&ws->waiting, data, len, NULL) < 0))
        end(ws, WEBSOCKET_TRY_LATER, "out of memory");
    return 0;
}

/* Those that waited. */
static void go_on(struct websocket *ws)
{
    size_t at = 0;
    struct waiting entry;

    while (at < ws->waiting.len && !has_to_wait(ws)) {
        memcpy(&entry, ws->waiting.data + at, sizeof(entry));
        at += sizeof(entry) + entry.len;
        if (!take(ws, entry.flags, ws->waiting.data + at - entry.len, entry.len))
            return;
    }
    buf_consume(&ws->waiting, at);
}

void websocket_next(struct websocket *ws)
{
    request_release(ws->request, ws->message.len);
    buf_done(&ws->message);
    buf_init(&ws->message, ws->options.max_message);
    ws->is_busy = false;
    go_on(ws);
}

static void on_broken(struct request *request, int code)
{
    end(request->user, code,
        code == WEBSOCKET_TOO_BIG ? "the message is too long" : "the frame breaks RFC 6455");
}

static void on_drained(struct request *request)
{
    struct websocket *ws = request->user;

    if (!ws->is_behind)
        return;
    ws->is_behind = false;
    ws->unread = 0;
    ws->heard_ns = loop_now_ns(); /* it reads, and was not pinged meanwhile */
    if (ws->options.on_drained)
        ws->options.on_drained(ws->options.user);
    if (!ws->is_busy)
        go_on(ws);
}

static void on_gone(struct request *request)
{
    tell_end(request->user);
}

static void on_stop(struct request *request)
{
    end(request->user, WEBSOCKET_GOING_AWAY, "the server is stopping");
}

/* A ping now and then. A client from which nothing comes is gone, or will find out. */
static void on_timer(void *arg)
{
    struct websocket *ws = arg;

    if (ws->is_lost || (loop_now_ns() - ws->heard_ns) / 1000000 >= ws->options.idle_ms) {
        end(ws, WEBSOCKET_GOING_AWAY, "the client was silent for too long");
        return;
    }
    if (!ws->is_behind)
        (void)send_frame(ws, WEBSOCKET_PING, NULL, 0);
    loop_timer_start(ws->timer, ws->options.idle_ms / 3 + 1);
}

bool websocket_send(struct websocket *ws, bool is_text, const void *data, size_t len)
{
    return send_frame(ws, is_text ? WEBSOCKET_TEXT : WEBSOCKET_BINARY, data, len);
}

static void upgrade(struct websocket *ws)
{
    struct request *request = ws->request;
    const char *protocol = ws->options.protocol;
    char headers[256], key[WEBSOCKET_ACCEPT_SIZE];

    websocket_accept_key(request_header(request, "sec-websocket-key"), key);
    (void)snprintf(headers, sizeof(headers),
                   "Upgrade: websocket\r\nSec-WebSocket-Accept: %s\r\n%s%s%s", key,
                   protocol ? "Sec-WebSocket-Protocol: " : "", protocol ? protocol : "",
                   protocol ? "\r\n" : "");
    request->user = ws;
    request->on_bytes = on_bytes;
    request->on_broken = on_broken;
    request->on_drained = on_drained;
    request->on_gone = on_gone;
    request->on_stop = on_stop;
    request_upgrade(request, headers, ws->options.max_message);
}

struct websocket *websocket_accept(struct request *request, const struct websocket_options *options)
{
    struct websocket *ws = calloc(1, sizeof(*ws));
    struct error err = {0};

    if (ws)
        ws->timer = loop_timer(options->loop, on_timer, ws);
    if (!ws || !ws->timer) {
        free(ws);
        error_memory(&err);
        request_answer_error(request, &err);
        return NULL;
    }
    ws->request = request;
    ws->options = *options;
    ws->order.max = options->max_message;
    ws->heard_ns = loop_now_ns();
    buf_init(&ws->message, options->max_message);
    buf_init(&ws->waiting, WAITING_MAX);
    loop_timer_start(ws->timer, options->idle_ms / 3 + 1);
    upgrade(ws);
    return ws;
}
