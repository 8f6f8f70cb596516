/* One request of a client: from its head to the end of its answer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "base/span.h"
#include "cluster/gateway_internal.h"

#define MS UINT64_C(1000000)

/* A node that takes longer for its part of a list is left out, which the answer says. */
#define PART_NS (5000 * MS)

/* For so long the bus may deliver a node nothing before that is logged. */
#define UNREACHED_NS (10000 * MS)

static const struct http_limits limits = {CLUSTER_PAYLOAD_MAX, HTTP_HEADERS_MAX, "long", "many"};

/* --- life --- */

static size_t bucket_of(uint64_t exchange)
{
    return (size_t)(exchange % EXCHANGE_BUCKETS);
}

void exchange_enter(struct exchange *x, uint64_t number)
{
    LIST_INSERT_HEAD(&x->gateway->buckets[bucket_of(number)], x, of_bucket);
}

static void forget_copy(struct exchange *x)
{
    if (x->copy)
        evbuffer_free(x->copy);
    x->copy = NULL;
}

void exchange_free(struct exchange *x)
{
    if (x->asking)
        keep_forget(x->asking);
    if (x->fan && !x->is_part)
        fan_free(x->fan);
    if (x->request) {
        x->request->on_gone = NULL;
        x->request->on_drained = NULL;
    }
    if (x->has_stream) {
        LIST_REMOVE(x, of_bucket);
        stream_done(&x->stream);
    }
    if (x->is_fresh && x->phase == EXCHANGE_RUNS)
        gateway_note_end(x->gateway, x->node);
    TAILQ_REMOVE(&x->gateway->exchanges, x, of_gateway);
    x->gateway->n_freed++;
    evbuffer_free(x->pending);
    forget_copy(x);
    free(x);
}

struct exchange *exchange_make(struct gateway *gateway, struct request *request)
{
    struct exchange *x = calloc(1, sizeof(*x));

    if (x)
        x->pending = evbuffer_new();
    if (!x || !x->pending) {
        free(x);
        return NULL;
    }
    x->gateway = gateway;
    x->request = request;
    x->asked_ns = loop_now_ns();
    TAILQ_INSERT_TAIL(&gateway->exchanges, x, of_gateway);
    return x;
}

/* The client has gone: what was begun is cancelled. */
static void on_gone(struct request *request)
{
    struct exchange *x = request->user;

    x->request = NULL;
    if (x->has_stream)
        stream_say_word(&x->stream, FRAME_RESET, RESET_CANCELLED);
    exchange_free(x);
}

/* Breaks the answer off so that the client notices, or says what has happened. */
static void fail(struct exchange *x, int status, const char *code, const char *message,
                 const char *hint)
{
    struct request *request = x->request;

    if (x->is_part) {
        fan_end_part(x, true);
        return;
    }
    if (!x->has_answer) {
        exchange_refuse(x, status, code, message, hint);
        return;
    }
    x->request = NULL;
    exchange_free(x);
    if (request)
        request_abort(request);
}

/* --- the client's bytes --- */

/* What is sent now is the last. It does not come before GO. */
static bool is_last(const struct exchange *x, size_t sent)
{
    return x->is_body_over && evbuffer_get_length(x->pending) == sent && !x->is_upgraded &&
           !x->wants_upgrade && x->phase != EXCHANGE_OFFERED;
}

/* Sends what waits, as far as there is room. */
void exchange_pump(struct exchange *x)
{
    size_t taken = 0;

    while (x->has_stream && evbuffer_get_length(x->pending) && stream_has_room(&x->stream)) {
        size_t len = evbuffer_get_contiguous_space(x->pending);

        len = len < CLUSTER_PAYLOAD_MAX ? len : CLUSTER_PAYLOAD_MAX;
        stream_send(&x->stream, FRAME_DATA, is_last(x, len) ? FRAME_END : 0,
                    evbuffer_pullup(x->pending, (ssize_t)len), len);
        (void)evbuffer_drain(x->pending, len);
        taken += len;
    }
    if (x->has_stream && is_last(x, 0))
        stream_end(&x->stream);
    taken = taken < x->untaken ? taken : x->untaken;
    x->untaken -= taken;
    if (taken && x->request)
        request_taken(x->request, taken);
}

static int on_piece(struct request *request, const void *data, size_t len, struct error *err)
{
    struct exchange *x = request->user;

    if (x->collects && evbuffer_get_length(x->pending) + len > COLLECT_BYTES)
        return error_set(err, E_TOO_LARGE, "the body is too large for this route in a cluster");
    if (x->collects && request_hold(request, len, err) < 0)
        return -1;
    if (evbuffer_add(x->pending, data, len) < 0)
        return error_memory(err);
    if (x->copy &&
        (evbuffer_get_length(x->copy) + len > COPY_BYTES || evbuffer_add(x->copy, data, len) < 0))
        forget_copy(x);
    if (x->collects) {
        request_taken(request, len);
        return 0;
    }
    x->untaken += len;
    exchange_pump(x);
    return 0;
}

static int on_bytes(struct request *request, unsigned flags, const void *data, size_t len)
{
    (void)flags;
    return on_piece(request, data, len, NULL);
}

/* --- what the client sends --- */

static void on_drained(struct request *request)
{
    struct exchange *x = request->user;

    x->is_held = false;
    if (x->has_stream)
        stream_used(&x->stream, false);
    if (x->fan)
        fan_drained(x->fan);
}

int exchange_on_head(void *user, struct request *request)
{
    struct gateway *gateway = user;
    struct exchange *x = exchange_make(gateway, request);
    struct error err = {0};

    if (!x) {
        error_memory(&err);
        request_answer_error(request, &err);
        return -1;
    }
    request->user = x;
    x->head = &request->head;
    request->on_gone = on_gone;
    request->on_drained = on_drained;
    request->on_piece = on_piece;
    request->takes_itself = true;
    request->body_limit = UINT64_MAX;
    route_find(&request->head, &x->target);
    x->is_body_over = request->head.framing == HTTP_NO_BODY;
    if (span_is(http_head_get(x->head, "belljar-repeatable"), "true") || x->target.is_job)
        x->copy = evbuffer_new();
    return exchange_dispatch(x);
}

void exchange_on_whole(void *user, struct request *request)
{
    struct exchange *x = request->user;

    (void)user;
    x->is_body_over = true;
    if (x->collects) {
        x->collects = false;
        (void)exchange_dispatch_body(x);
        return;
    }
    exchange_pump(x);
}

/* --- the answer --- */

static bool is_hop(struct span name)
{
    return span_is_nocase(name, "connection") || span_is_nocase(name, "keep-alive") ||
           span_is_nocase(name, "transfer-encoding") || span_is_nocase(name, "content-length");
}

static int write_headers(const struct http_head *head, struct buf *out)
{
    for (size_t i = 0; i < head->n_headers; i++) {
        const struct http_header *h = &head->headers[i];

        if (!is_hop(h->name) && buf_printf(out, NULL, "%.*s: %.*s\r\n", (int)h->name.len,
                                           h->name.data, (int)h->value.len, h->value.data) < 0)
            return -1;
    }
    return 0;
}

static void break_off(struct exchange *x)
{
    stream_say_word(&x->stream, FRAME_RESET, RESET_BROKEN);
    fail(x, 502, "protocol", "the node sent an invalid answer", "send the request again");
}

/* "/v1/sessions/NAME" alone. */
static bool is_whole_session(const struct exchange *x)
{
    struct span path = x->head->path;
    const char *last = memrchr(path.data, '/', path.len);

    return last && (size_t)(last - path.data) == strlen("/v1/sessions");
}

/* Of a request for a session by its name, or with an idempotency key. What the bucket said was
 * learned before; without one, what a node has answered is all that is known. */
static void learn(const struct exchange *x, int status)
{
    struct gateway *gateway = x->gateway;
    bool has_ended = status == 204 && span_is(x->head->method, "DELETE") && is_whole_session(x);

    if (!*x->key)
        return;
    if (!x->has_key && has_ended)
        (void)keep_ask(gateway->keep, KEEP_NAMES, KEEP_DROP, x->key, x->node, 0, NULL, NULL);
    if (!x->has_key && (has_ended || status == 404))
        names_forget(gateway->names, x->key);
    else if (x->has_no_bucket)
        names_learn(gateway->names, names_epoch(gateway->names), x->key, x->node);
}

/* Of a durable job which the node that was asked does not have: all are asked, once. */
static bool has_another_home(const struct exchange *x)
{
    return x->target.is_job && !x->is_part && !x->asked_all && x->copy;
}

/* Its first home says that there is no such job: another one may have taken it. */
static void ask_others(struct exchange *x)
{
    stream_say_word(&x->stream, FRAME_RESET, RESET_CANCELLED);
    LIST_REMOVE(x, of_bucket);
    stream_done(&x->stream);
    x->has_stream = false;
    (void)evbuffer_drain(x->pending, evbuffer_get_length(x->pending));
    if (evbuffer_add(x->pending, evbuffer_pullup(x->copy, -1), evbuffer_get_length(x->copy)) < 0)
        exchange_refuse(x, 500, "system", "out of memory", "try again in a moment");
    else
        (void)exchange_find_job(x);
}

static void take_head(struct exchange *x, const struct frame *frame)
{
    cleanup(buf_done) struct buf headers = BUF_OF(CLUSTER_PAYLOAD_MAX);
    struct request *request = x->request;
    struct http_refusal why;
    struct http_head head;
    size_t scanned = 0;
    uint64_t length = REQUEST_UNKNOWN_LENGTH;

    if (x->has_answer || frame->payload.len == 0 ||
        http_read_response(frame->payload.data, frame->payload.len, &limits, &scanned, &head,
                           &why) != (ssize_t)frame->payload.len ||
        head.status == 100 || (head.status == 101 && !x->wants_upgrade) ||
        write_headers(&head, &headers) < 0) {
        break_off(x);
        return;
    }
    if (head.status == 404 && has_another_home(x)) {
        ask_others(x);
        return;
    }
    x->phase = EXCHANGE_RUNS;
    if (x->is_part) {
        x->has_answer = true;
        fan_take_head(x, head.status);
        return;
    }
    learn(x, head.status);
    if (head.status == 101) {
        x->has_answer = x->is_upgraded = true;
        request->on_bytes = on_bytes;
        request_upgrade(request, buf_str(&headers), 0);
        return;
    }
    if (head.framing == HTTP_LENGTH || (head.framing == HTTP_NO_BODY && head.status != 304))
        length = head.length;
    x->has_answer = true;
    request_relay(request, head.status, buf_str(&headers), length);
}

static void take_part(struct exchange *x, const struct frame *frame)
{
    bool is_last = frame->flags & FRAME_END;

    if (fan_take_data(x, frame->payload.data, frame->payload.len) || is_last)
        stream_used(&x->stream, is_last);
    if (frame->flags & FRAME_END)
        fan_end_part(x, false);
}

static void take_data(struct exchange *x, const struct frame *frame)
{
    struct request *request = x->request;
    bool has_room = true;

    if (!x->has_answer) {
        break_off(x);
        return;
    }
    if (x->is_part) {
        take_part(x, frame);
        return;
    }
    if (frame->payload.len)
        has_room = request_write(request, frame->payload.data, frame->payload.len);
    x->is_held = !has_room;
    if (frame->flags & FRAME_END) {
        stream_used(&x->stream, true);
        x->request = NULL;
        request->on_gone = NULL;
        request->on_drained = NULL;
        exchange_free(x);
        request_end(request);
        return;
    }
    if (has_room)
        stream_used(&x->stream, false);
}

static void take_verdict(struct exchange *x, uint32_t word)
{
    enum frame_verdict verdict = word & VERDICT_MASK;
    struct member *m = members_find(&x->gateway->nodes, x->node);

    if (m) {
        member_has_room(m, word >> VERDICT_ROOM_SHIFT);
        m->unreached_ns = 0;
    }
    LOG_EVENT(LOG_DEBUG, "verdict", {"node", x->node}, {"verdict", .number = verdict});
    if (x->phase != EXCHANGE_OFFERED)
        return;
    if (verdict == VERDICT_ACCEPTED) {
        x->phase = EXCHANGE_RUNS;
        stream_send(&x->stream, FRAME_GO, is_last(x, 0) ? FRAME_END : 0, NULL, 0);
        exchange_pump(x);
        return;
    }
    x->was_busy |= verdict == VERDICT_BUSY;
    (void)exchange_offer_next(x);
}

/* Its client has said that it may run twice, and nothing of an answer has been passed on. */
static bool run_again(struct exchange *x)
{
    if (!x->is_fresh || !x->copy || x->has_answer)
        return false;
    LIST_REMOVE(x, of_bucket);
    stream_done(&x->stream);
    x->has_stream = false;
    (void)evbuffer_drain(x->pending, evbuffer_get_length(x->pending));
    if (evbuffer_add(x->pending, evbuffer_pullup(x->copy, -1), evbuffer_get_length(x->copy)) < 0) {
        exchange_refuse(x, 500, "system", "out of memory", "try again in a moment");
        return true;
    }
    (void)exchange_offer_next(x);
    return true;
}

/* Whether another node may get it: this one has not begun, and all that was sent is there. */
static bool can_move(const struct exchange *x, enum frame_reason reason)
{
    const struct packet *first = TAILQ_FIRST(&x->stream.kept);

    if (x->phase == EXCHANGE_OFFERED)
        return true;
    return reason == RESET_NOT_BEGUN && x->is_fresh && first && first->number == 0;
}

static void take_reset(struct exchange *x, enum frame_reason reason)
{
    LOG_EVENT(LOG_DEBUG, "reset", {"node", x->node}, {"reason", .number = reason});
    if (x->is_part && (reason == RESET_ENGINE || reason == RESET_NOT_BEGUN))
        fan_note_no_engine(x);
    if (reason == RESET_ELSEWHERE && has_another_home(x)) {
        ask_others(x);
        return;
    }
    if (reason != RESET_REFUSED && can_move(x, reason)) {
        x->was_busy |= reason == RESET_FULL;
        (void)exchange_offer_next(x);
        return;
    }
    switch (reason) {
    case RESET_REFUSED:
        fail(x, 404, "not_found", "gateways do not serve this path",
             "/openapi.json lists all routes");
        return;
    case RESET_ENGINE:
        if (run_again(x))
            return;
        fail(x, 502, "engine_lost", "the engine of the node ended or closed the connection",
             "it may have run in part; with an Idempotency-Key the same request can be repeated");
        return;
    case RESET_NOT_BEGUN:
        fail(x, 503, "unavailable", "the engine of the node does not answer",
             "try again in a moment");
        return;
    case RESET_ELSEWHERE:
        if (x->is_part)
            fan_end_part(x, true);
        else
            exchange_refuse_unsure(x);
        return;
    case RESET_NOT_KEPT:
        fail(x, 503, "unavailable", "the job is over, and the bus does not take its end now",
             "ask again in a moment");
        return;
    case RESET_FULL:
        fail(x, 429, "busy", "the node has too many requests", "try again in a moment");
        return;
    case RESET_STOPPED:
    case RESET_UNKNOWN:
        exchange_lose(x);
        return;
    default:
        fail(x, 502, "protocol", "a part of the exchange with the node was lost",
             "it may have run; check GET /v1/runs before you send it again");
        return;
    }
}

void exchange_take(struct exchange *x, const struct frame *frame)
{
    switch (stream_take(&x->stream, frame)) {
    case STREAM_TAKE:
        if (frame->type == FRAME_HEAD)
            take_head(x, frame);
        else
            take_data(x, frame);
        return;
    case STREAM_OTHER:
        if (frame->type == FRAME_VERDICT)
            take_verdict(x, frame_word(frame));
        else
            take_reset(x, frame_word(frame));
        return;
    case STREAM_ROOM:
        exchange_pump(x);
        return;
    case STREAM_BROKEN:
        break_off(x);
        return;
    default:
        return;
    }
}

/* --- what goes wrong --- */

void exchange_lose(struct exchange *x)
{
    if (x->phase == EXCHANGE_OFFERED) {
        (void)exchange_offer_next(x);
        return;
    }
    if (run_again(x))
        return;
    if (x->is_fresh) {
        char message[160];

        (void)snprintf(message, sizeof(message),
                       "the node `%s` was lost after it had accepted the request", x->node);
        fail(x, 502, "node_lost", message,
             "it may have run in part; send it again if that is safe, or say so beforehand with "
             "`Belljar-Repeatable: true`");
        return;
    }
    if (x->has_answer)
        fail(x, 502, "node_lost", "", "");
    else if (x->target.is_job)
        exchange_refuse(x, 503, "unavailable", "the machine of this job was lost",
                        "ask again in a moment: where the bus has a copy of the job, another "
                        "machine takes it");
    else if (x->target.who == ROUTE_NODE && !gateway_is_deaf(x->gateway))
        exchange_refuse_lost(x);
    else
        fail(x, 502, "node_lost", "the connection to the node was lost",
             "it may have run in part; check before you send it again");
}

/* The bus has no way to a node that is heard all the same. On its way back to the bus a node is so
 * for a moment; a server that has reloaded its users may stay so. */
static void note_unreached(const struct exchange *x)
{
    struct member *m = members_find(&x->gateway->nodes, x->node);
    uint64_t now = loop_now_ns();

    if (!m)
        return;
    if (!m->unreached_ns)
        m->unreached_ns = now;
    if (now < m->unreached_ns + UNREACHED_NS)
        return;
    m->unreached_ns = now; /* and is said again after as long */
    LOG_EVENT(LOG_WARNING, "node", {"node", x->node},
              {"message", "the node is heard, and the bus delivers it no requests"},
              {"hint", "on that machine: `systemctl restart belljar-nats`"});
}

void exchange_no_responders(struct exchange *x)
{
    bool is_new = x->phase == EXCHANGE_OFFERED || (!x->has_answer && x->stream.next_in == 0);

    if (!is_new)
        return; /* heartbeats tell */
    note_unreached(x);
    if (x->phase == EXCHANGE_OFFERED || !gateway_knows(x->gateway, x->node))
        exchange_lose(x);
    /* Else it is on its way back to the bus, and is asked again. */
}

void exchange_tick(struct exchange *x, uint64_t now)
{
    if (x->fan && !x->is_part) {
        fan_tick(x->fan, now);
        return;
    }
    if (!x->has_stream)
        return;
    if (x->stream.is_torn) {
        stream_say_word(&x->stream, FRAME_RESET, RESET_BROKEN);
        fail(x, 500, "system", "out of memory", "try again in a moment");
        return;
    }
    if (x->is_part && !fan_lasts(x) && now > x->asked_ns + PART_NS) {
        stream_say_word(&x->stream, FRAME_RESET, RESET_CANCELLED);
        fan_end_part(x, true);
        return;
    }
    if (x->phase == EXCHANGE_OFFERED && now > x->offered_ns + CLUSTER_SILENT_MS * MS) {
        struct member *m = members_find(&x->gateway->nodes, x->node);

        /* Until its next heartbeat others are asked first. */
        if (m)
            member_has_room(m, 0);
        stream_say_word(&x->stream, FRAME_RESET, RESET_CANCELLED);
        (void)exchange_offer_next(x);
        return;
    }
    stream_tick(&x->stream, now);
}
