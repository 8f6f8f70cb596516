/* Any bytes as what the bus brings: a frame that is taken is within its bytes and written again is
 * the same; a stream hands over numbers in order, whatever comes; heartbeats, subjects and routes
 * hold to their sizes; a relay makes one request of what it is given; places of jobs are read as
 * they are written, and nothing opens a seal.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/http1.h"
#include "cluster/beat.h"
#include "cluster/job_keep.h"
#include "cluster/job_seal.h"
#include "cluster/job_table.h"
#include "cluster/node_internal.h"
#include "cluster/route.h"
#include "cluster/stream.h"
#include "http/request_rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* No relay here has an engine. */
void relay_reset(struct relay *relay, enum frame_reason reason)
{
    (void)relay;
    (void)reason;
    abort();
}

/* Nor is a job of it kept. */
struct job_hook *job_hook_new(struct job_keep *keep, struct relay *relay,
                              const struct http_head *head)
{
    (void)keep;
    (void)relay;
    (void)head;
    abort();
}

void job_hook_take_body(struct job_hook *hook, const void *data, size_t len)
{
    (void)hook;
    (void)data;
    (void)len;
    abort();
}

bool job_hook_holds(struct job_hook *hook, const struct http_head *answer, struct span head)
{
    (void)hook;
    (void)answer;
    (void)head;
    abort();
}

int job_hook_take_answer(struct job_hook *hook, const void *data, size_t len)
{
    (void)hook;
    (void)data;
    (void)len;
    abort();
}

bool job_keep_may_have(struct job_keep *keep, struct span path)
{
    (void)keep;
    (void)path;
    abort();
}

bool job_keep_tells_end(struct job_keep *keep, struct span path)
{
    (void)keep;
    (void)path;
    abort();
}

void job_hook_run(struct job_hook *hook)
{
    (void)hook;
    abort();
}

const struct buf *job_hook_answer(const struct job_hook *hook, bool is_head)
{
    (void)hook;
    (void)is_head;
    abort();
}

/* Takes the frames that leave. */
void bus_send_frame(struct bus *bus, const char *subject, const char *reply, struct packet *packet,
                    bool can_wait)
{
    (void)bus;
    (void)reply;
    (void)can_wait;
    if (strlen(subject) >= CLUSTER_SUBJECT_MAX || packet->len < FRAME_HEADER ||
        packet->len > FRAME_MAX)
        abort();
}

/* Returns its bytes, or 0. */
static size_t check_frame(const char *text, size_t len, enum frame_side from)
{
    uint8_t header[FRAME_HEADER];
    struct frame frame;
    struct span head;
    uint32_t flags;
    ssize_t n = frame_read(text, len, from, &frame);

    if (n < 0)
        return 0;
    if (frame.payload.data != text + FRAME_HEADER || (size_t)n > len || (size_t)n > FRAME_MAX ||
        frame.payload.len + FRAME_HEADER != (size_t)n)
        abort();
    frame_write_header(header, &frame);
    if (memcmp(header, text, FRAME_HEADER) != 0)
        abort();
    (void)frame_word(&frame);
    if (frame.type == FRAME_OPEN &&
        (!frame_read_open(&frame, &flags, &head) || head.data + head.len != text + n))
        abort();
    return (size_t)n;
}

static void check_message(const char *text, size_t len, enum frame_side from)
{
    for (size_t at = 0, n; at < len && (n = check_frame(text + at, len - at, from)) > 0;)
        at += n;
}

/* Each byte is a frame: its type, and how far its number is from what is expected. */
static void check_stream(const uint8_t *data, size_t len)
{
    static const uint8_t types[] = {FRAME_DATA, FRAME_ACK,  FRAME_AGAIN, FRAME_STATE,
                                    FRAME_HEAD, FRAME_DATA, FRAME_RESET, FRAME_VERDICT};
    uint64_t taken = 0;
    struct stream s;
    bool is_broken = false;

    stream_init(&s, NULL, "belljar.v1.gate.a1.b2", 1, 2);
    for (size_t i = 0; i < len && i < 512 && !is_broken; i++) {
        struct frame frame = {
            .type = types[data[i] & 7],
            .flags = data[i] >> 7 && frame_is_numbered(&(struct frame){.type = types[data[i] & 7]}),
            .payload = {"abcd", 4}};
        int delta = (data[i] >> 3 & 15) - 4;

        frame.number =
            (frame_is_numbered(&frame) || frame.type == FRAME_STATE ? s.next_in : s.next_out) +
            (uint64_t)(int64_t)delta;
        if (data[i] & 1 && stream_has_room(&s))
            stream_write(&s, "xyz", 3);
        switch (stream_take(&s, &frame)) {
        case STREAM_TAKE:
            if (frame.number != taken++)
                abort();
            stream_used(&s, data[i] & 2);
            break;
        case STREAM_BROKEN:
            is_broken = true;
            break;
        default:
            break;
        }
        if (s.kept_bytes > CLUSTER_WINDOW + FRAME_MAX || (TAILQ_EMPTY(&s.kept) != !s.kept_bytes))
            abort();
    }
    stream_done(&s);
}

static void check_text(const char *text, size_t len)
{
    struct subject_names names;
    struct route_target target;
    struct http_refusal why;
    struct http_head head;
    struct beat beat;
    char copy[256];
    uint64_t exchange;
    size_t scanned = 0;

    if (beat_read(text, len, &beat, NULL) == 0) {
        if (strlen(beat.name) >= sizeof(beat.name) ||
            strlen(beat.version) >= sizeof(beat.version) || llabs(beat.room) >> 54 ||
            llabs(beat.clock_ms) >> 54)
            abort();
        beat_done(&beat);
    }
    (void)snprintf(copy, sizeof(copy), "%.*s", (int)(len < 255 ? len : 255), text);
    (void)subject_read(copy, "node", &names);
    (void)subject_read_reply(copy, &exchange);
    if (http_request_check(text, len, &scanned, &head, &why) > 0) {
        route_find(&head, &target);
        if (strlen(target.node) >= sizeof(target.node) ||
            strlen(target.name) >= sizeof(target.name))
            abort();
    }
}

/* A place that is read is written again as one that is read as the same. */
static void check_job(const char *text, size_t len)
{
    static const struct job_seal seal;
    struct buf opened = {.limit = 4096};
    struct job_place place, again;
    char subject[CLUSTER_SUBJECT_MAX], copy[256], id[ID_SIZE];

    (void)snprintf(copy, sizeof(copy), "%.*s", (int)(len < 255 ? len : 255), text);
    if (job_place_read(copy, &place)) {
        job_place_write(&place, subject);
        if (!job_place_read(subject, &again) || strcmp(place.id, again.id) != 0 ||
            place.kind != again.kind || place.home != again.home || place.number != again.number)
            abort();
    }
    job_id_of_path(text, len, id);
    if (strlen(id) >= sizeof(id))
        abort();
    if (job_seal_open(&seal, "place", (struct span){text, len}, &opened, NULL) == 0 || opened.len)
        abort();
    buf_done(&opened);
}

/* -1: the relay would be reset. */
static int give_request(struct relay *relay, const char *at, size_t len, size_t *ret_body)
{
    const char *end = memmem(at, len, "\r\n\r\n", 4);
    size_t n = end ? (size_t)(end - at) + 4 : len;
    bool is_over = false;

    if (relay_take_head(relay, (struct span){at, n}) < 0)
        return -1;
    *ret_body = 0;
    for (at += n, len -= n; !is_over; at += n, len -= n) {
        const char *next = len ? memchr(at, '|', len) : NULL;
        struct span piece = {at, next ? (size_t)(next - at) : len};

        n = piece.len + (next != NULL);
        is_over = next == NULL;
        *ret_body += piece.len;
        if (relay_take_body(relay, &piece, is_over) < 0)
            return -1;
    }
    return 0;
}

static void check_request(const char *text, size_t len, size_t body_len)
{
    struct http_refusal why;
    struct http_head head;
    struct http_body body;
    struct span piece;
    size_t scanned = 0, used = 0;
    ssize_t n = http_request_check(text, len, &scanned, &head, &why);
    int r = 0;

    if (n <= 0 || span_starts_with(head.path, "/v1/cluster/"))
        abort();
    text += n;
    len -= (size_t)n;
    http_body_init(&body, &head);
    while (head.framing != HTTP_NO_BODY && r == 0 && len) {
        r = http_body_next(&body, text, len, &piece, &used);
        if (r < 0 || piece.len > body_len)
            abort();
        body_len -= piece.len;
        text += used;
        len -= used;
    }
    /* All of it, and nothing behind it. */
    if (len || body_len || (head.framing == HTTP_CHUNKED && r != 1))
        abort();
}

/* Any bytes as a request that a gateway sends, whose body comes in pieces: what the node gives to
 * its engine is one request, as long as it was said to be, and not for one of the node's own paths.
 */
static void check_relay(const char *text, size_t len)
{
    struct node node = {.jobs = NULL};
    struct relay relay = {.node = &node, .request = evbuffer_new()};
    size_t body_len;

    if (relay.request && give_request(&relay, text, len, &body_len) == 0 && !relay.wants_upgrade)
        check_request((const char *)evbuffer_pullup(relay.request, -1),
                      evbuffer_get_length(relay.request), body_len);
    if (relay.request)
        evbuffer_free(relay.request);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    check_message((const char *)data, len, FRAME_GATEWAY);
    check_message((const char *)data, len, FRAME_NODE);
    check_stream(data, len);
    check_text((const char *)data, len);
    check_job((const char *)data, len);
    check_relay((const char *)data, len);
    return 0;
}
