/* One request of a gateway on the engine's socket. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/span.h"
#include "cluster/node_internal.h"
#include "http/request_rules.h"

static const struct http_limits limits = {CLUSTER_PAYLOAD_MAX, HTTP_HEADERS_MAX, "long", "many"};

/* --- the request --- */

static struct evbuffer *engine_output(const struct relay *relay)
{
    return relay->socket ? bufferevent_get_output(relay->socket) : relay->request;
}

/* Paths that only the node itself asks for. */
static bool is_own_path(struct span path)
{
    return span_starts_with(path, "/v1/cluster/") || span_is(path, "/v1/cluster");
}

/* The head is made again from its fields: not one byte that the engine reads is another's framing.
 */
static void add_head(struct relay *relay, const struct http_head *head)
{
    struct evbuffer *out = relay->request;

    (void)evbuffer_add_printf(out, "%.*s %.*s HTTP/1.1\r\n", (int)head->method.len,
                              head->method.data, (int)head->target.len, head->target.data);
    for (size_t i = 0; i < head->n_headers; i++) {
        const struct http_header *h = &head->headers[i];

        if (span_is_nocase(h->name, "connection") || span_is_nocase(h->name, "content-length") ||
            span_is_nocase(h->name, "transfer-encoding") || span_is_nocase(h->name, "expect") ||
            span_is_nocase(h->name, "keep-alive") ||
            (span_is_nocase(h->name, "upgrade") && !relay->wants_upgrade))
            continue;
        (void)evbuffer_add_printf(out, "%.*s: %.*s\r\n", (int)h->name.len, h->name.data,
                                  (int)h->value.len, h->value.data);
    }
    if (relay->wants_upgrade)
        (void)evbuffer_add_printf(out, "Connection: Upgrade\r\n");
    if (head->framing == HTTP_LENGTH)
        (void)evbuffer_add_printf(out, "Content-Length: %llu\r\n",
                                  (unsigned long long)head->length);
    else if (head->framing == HTTP_CHUNKED)
        (void)evbuffer_add_printf(out, "Transfer-Encoding: chunked\r\n");
    (void)evbuffer_add(out, "\r\n", 2);
}

int relay_take_head(struct relay *relay, struct span text)
{
    struct http_refusal why;
    struct http_head head;
    size_t scanned = 0;

    /* Of no bytes 0 are read, which says that more are needed. */
    if (text.len == 0 ||
        http_request_check(text.data, text.len, &scanned, &head, &why) != (ssize_t)text.len ||
        is_own_path(head.path))
        return -1;
    relay->is_head = span_is(head.method, "HEAD");
    relay->wants_upgrade = http_head_lists(&head, "connection", (struct span){"upgrade", 7}) &&
                           http_head_get(&head, "upgrade").data && head.framing == HTTP_NO_BODY;
    relay->is_chunked_in = head.framing == HTTP_CHUNKED;
    relay->left_in = head.framing == HTTP_LENGTH ? head.length : 0;
    relay->is_job = span_is(head.method, "POST") && span_is(head.path, "/v1/jobs");
    if (relay->node->jobs) {
        relay->hook = job_hook_new(relay->node->jobs, relay, &head);
        if (span_starts_with(head.path, "/v1/jobs/"))
            (void)snprintf(relay->job_path, sizeof(relay->job_path), "%.*s", (int)head.path.len,
                           head.path.data);
        relay->reads_job = span_is(head.method, "GET");
    }
    add_head(relay, &head);
    return 0;
}

int relay_take_body(struct relay *relay, const struct span *piece, bool is_last)
{
    struct evbuffer *out = engine_output(relay);

    if (relay->hook)
        job_hook_take_body(relay->hook, piece->data, piece->len);
    if (relay->is_upgraded || relay->wants_upgrade) {
        if (!relay->is_upgraded && piece->len)
            return -1; /* nothing has been agreed on */
        (void)evbuffer_add(out, piece->data, piece->len);
    } else if (relay->is_chunked_in) {
        if (piece->len) {
            (void)evbuffer_add_printf(out, "%zx\r\n", piece->len);
            (void)evbuffer_add(out, piece->data, piece->len);
            (void)evbuffer_add(out, "\r\n", 2);
        }
        if (is_last)
            (void)evbuffer_add(out, "0\r\n\r\n", 5);
    } else {
        if (piece->len > relay->left_in)
            return -1;
        relay->left_in -= piece->len;
        (void)evbuffer_add(out, piece->data, piece->len);
        if (is_last && relay->left_in)
            return -1;
    }
    relay->is_request_over |= is_last;
    return 0;
}

/* --- the answer --- */

/* Nothing of this request is left on its connection, in either direction. */
static bool is_clean(const struct relay *relay)
{
    return relay->keeps_alive && relay->is_request_over && !relay->is_upgraded &&
           evbuffer_get_length(bufferevent_get_output(relay->socket)) == 0 &&
           evbuffer_get_length(bufferevent_get_input(relay->socket)) == 0;
}

static void finish(struct relay *relay)
{
    if (relay->socket && is_clean(relay)) {
        engine_pool_put(relay->node->pool, relay->socket);
        relay->socket = NULL;
    }
    relay_close(relay);
    if (relay->is_held) {
        job_hook_run(relay->hook);
        return;
    }
    relay->is_over = true;
    stream_end(&relay->stream);
}

void relay_release(struct relay *relay)
{
    const struct buf *head = job_hook_answer(relay->hook, true);
    const struct buf *body = job_hook_answer(relay->hook, false);
    struct stream *stream = &relay->stream;

    stream_send(stream, FRAME_HEAD, 0, buf_str(head), head->len);
    for (size_t at = 0; at < body->len; at += CLUSTER_PAYLOAD_MAX) {
        size_t len = body->len - at;

        stream_send(stream, FRAME_DATA, 0, buf_str(body) + at,
                    len < CLUSTER_PAYLOAD_MAX ? len : CLUSTER_PAYLOAD_MAX);
    }
    relay->is_held = false;
    finish(relay);
}

/* A job as the engine shows it. Where it was asked for by its key, the path has its id from here
 * on. */
static bool is_over(struct relay *relay, const char *data, size_t len)
{
    static const struct json_text_limits text = {.bytes = CLUSTER_PAYLOAD_MAX, .depth = 16};
    cleanup_json json_t *job = NULL;
    const char *state;

    if (json_text_load(data, len, &text, &job, NULL) < 0)
        return false;
    state = json_get_text(job, "state");
    (void)snprintf(relay->job_path, sizeof(relay->job_path), "/v1/jobs/%s",
                   json_get_text(job, "id"));
    return *state && strcmp(state, "waiting") != 0 && strcmp(state, "running") != 0;
}

/* An answer about a durable job, of which `all` bytes have come. True: it is not passed on, or not
 * yet, or the relay is gone. */
static bool waits_for_job(struct relay *relay, const struct http_head *head, const char *data,
                          size_t head_len, size_t all)
{
    struct span path = {relay->job_path, strlen(relay->job_path)};
    struct job_keep *keep = relay->node->jobs;

    if (head->status == 404 && job_keep_may_have(keep, path)) {
        relay_reset(relay, RESET_ELSEWHERE);
        return true;
    }
    if (head->status != 200 || !relay->reads_job)
        return false;
    if (!span_ends_with(path, "/result")) { /* the job itself: whether it is over is in it */
        if (head->framing != HTTP_LENGTH || head->length > limits.bytes - head_len)
            return false;
        if (all - head_len < head->length)
            return true;
        if (!is_over(relay, data + head_len, (size_t)head->length))
            return false;
        path.len = strlen(relay->job_path);
    }
    if (relay->waits_ns || !job_keep_tells_end(keep, path))
        return relay->waits_ns != 0;
    relay->waits_ns = loop_now_ns();
    return true;
}

/* Returns false when more is needed, or the relay is gone. */
static bool read_head(struct relay *relay, struct evbuffer *input)
{
    size_t all = evbuffer_get_length(input);
    size_t len = all < limits.bytes ? all : limits.bytes;
    struct http_refusal why;
    struct http_head head;
    const char *data = len ? (const char *)evbuffer_pullup(input, (ssize_t)len) : NULL;
    ssize_t n;

    if (!len)
        return false;
    n = data ? http_read_response(data, len, &limits, &relay->scanned, &head, &why) : -1;
    if (n == 0)
        return false;
    relay->scanned = 0;
    if (n < 0 || (head.status == 101 && !relay->wants_upgrade)) {
        relay_reset(relay, RESET_ENGINE);
        return false;
    }
    if (head.status < 200 && head.status != 101) { /* the real one follows */
        (void)evbuffer_drain(input, (size_t)n);
        return true;
    }
    if (*relay->job_path && waits_for_job(relay, &head, data, (size_t)n, all))
        return false;
    relay->has_answer = true;
    relay->is_upgraded = head.status == 101;
    relay->keeps_alive =
        !head.is_old && !http_head_lists(&head, "connection", (struct span){"close", 5});
    relay->is_held =
        relay->hook && job_hook_holds(relay->hook, &head, (struct span){data, (size_t)n});
    if (!relay->is_held)
        stream_send(&relay->stream, FRAME_HEAD, 0, data, (size_t)n);
    if (relay->is_head)
        head.framing = HTTP_NO_BODY;
    if (relay->is_upgraded)
        head.framing = HTTP_UNTIL_CLOSE;
    http_body_init(&relay->body_out, &head);
    (void)evbuffer_drain(input, (size_t)n);
    if (head.framing == HTTP_NO_BODY) {
        finish(relay);
        return false;
    }
    return true;
}

static bool read_body(struct relay *relay, struct evbuffer *input)
{
    size_t len = evbuffer_get_contiguous_space(input), used;
    struct span piece;
    int r;

    if (!len)
        return false;
    len = len < CLUSTER_PAYLOAD_MAX ? len : CLUSTER_PAYLOAD_MAX;
    r = http_body_next(&relay->body_out, (const char *)evbuffer_pullup(input, (ssize_t)len), len,
                       &piece, &used);
    if (r < 0) {
        relay_reset(relay, RESET_ENGINE);
        return false;
    }
    if (piece.len && relay->is_held) {
        if (job_hook_take_answer(relay->hook, piece.data, piece.len) < 0) {
            relay_reset(relay, RESET_ENGINE);
            return false;
        }
    } else if (piece.len)
        stream_send(&relay->stream, FRAME_DATA, r == 1 ? FRAME_END : 0, piece.data, piece.len);
    (void)evbuffer_drain(input, used);
    if (r == 1)
        finish(relay);
    return r == 0;
}

/* While the gateway has no room the engine is not read, so the program stands still. */
static bool has_room(struct relay *relay)
{
    bool is_full = !stream_has_room(&relay->stream);

    if (is_full != relay->is_stalled)
        (void)(is_full ? bufferevent_disable(relay->socket, EV_READ)
                       : bufferevent_enable(relay->socket, EV_READ));
    relay->is_stalled = is_full;
    return !is_full;
}

void relay_go_on(struct relay *relay)
{
    bool more = true;

    while (more && relay->socket && has_room(relay)) {
        struct evbuffer *input = bufferevent_get_input(relay->socket);

        more = relay->has_answer ? read_body(relay, input) : read_head(relay, input);
    }
}

static void on_read(struct bufferevent *socket, void *arg)
{
    (void)socket;
    relay_go_on(arg);
}

/* Bytes for the engine have left. */
static void on_write(struct bufferevent *socket, void *arg)
{
    struct relay *relay = arg;

    (void)socket;
    stream_used(&relay->stream, false);
}

static void on_event(struct bufferevent *socket, short what, void *arg)
{
    struct relay *relay = arg;

    (void)socket;
    if (what & BEV_EVENT_CONNECTED)
        return;
    if (relay->has_answer && relay->body_out.framing == HTTP_UNTIL_CLOSE) {
        relay->keeps_alive = false;
        finish(relay);
        return;
    }
    relay_reset(relay, RESET_ENGINE);
}

/* --- the connection --- */

int relay_dial(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0 || strlen(path) >= sizeof(address.sun_path))
        return -1;
    memcpy(address.sun_path, path, strlen(path) + 1);
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        return -1;
    return take_fd(fd);
}

static struct bufferevent *dial(const struct node *node)
{
    cleanup_close int fd = relay_dial(node->settings->socket);
    struct bufferevent *socket = NULL;

    if (fd >= 0)
        socket = bufferevent_socket_new(loop_base(node->loop), fd, BEV_OPT_CLOSE_ON_FREE);
    if (socket)
        fd = -1;
    return socket;
}

int relay_connect(struct relay *relay)
{
    relay->socket = engine_pool_take(relay->node->pool);
    if (!relay->socket)
        relay->socket = dial(relay->node);
    if (!relay->socket)
        return -1;
    bufferevent_setcb(relay->socket, on_read, on_write, on_event, relay);
    bufferevent_setwatermark(relay->socket, EV_READ, 0, CLUSTER_PAYLOAD_MAX);
    bufferevent_setwatermark(relay->socket, EV_WRITE, RELAY_HIGH / 4, 0);
    (void)evbuffer_add_buffer(bufferevent_get_output(relay->socket), relay->request);
    (void)bufferevent_enable(relay->socket, EV_READ | EV_WRITE);
    return 0;
}

void relay_close(struct relay *relay)
{
    if (relay->socket)
        bufferevent_free(relay->socket);
    relay->socket = NULL;
}
