#include "cluster/stream.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* What a kept frame costs beside its bytes. */
#define FRAME_COST 128

/* The sender hears of what was used in pieces of so many bytes. */
#define ACK_BYTES (CLUSTER_WINDOW / 4)

#define MS UINT64_C(1000000)

/* From the last sign that something arrives to the question whether it did. */
#define UNSURE_NS (300 * MS)

/* From the last frame to the question whether the other side knows the exchange. */
#define SILENT_NS (2000 * MS)

/* A gap is asked for again after so long. */
#define AGAIN_NS (200 * MS)

void stream_init(struct stream *s, struct bus *bus, const char *subject, uint64_t instance,
                 uint64_t exchange)
{
    *s = (struct stream){.bus = bus, .instance = instance, .exchange = exchange};
    (void)snprintf(s->subject, sizeof(s->subject), "%s", subject);
    TAILQ_INIT(&s->kept);
    s->heard_ns = loop_now_ns();
    s->is_used = true;
}

static size_t cost_of(const struct packet *packet)
{
    return packet->len + FRAME_COST;
}

static void drop_first(struct stream *s)
{
    struct packet *packet = TAILQ_FIRST(&s->kept);

    TAILQ_REMOVE(&s->kept, packet, link);
    s->kept_bytes -= cost_of(packet);
    packet_unref(packet);
}

void stream_done(struct stream *s)
{
    while (!TAILQ_EMPTY(&s->kept))
        drop_first(s);
}

/* --- sending --- */

static struct packet *make(const struct stream *s, const struct frame *what, const void *before,
                           size_t before_len)
{
    struct frame frame = *what;
    struct packet *packet;

    frame.instance = s->instance;
    frame.exchange = s->exchange;
    frame.payload.len += before_len;
    packet = packet_new(FRAME_HEADER + frame.payload.len);
    if (!packet)
        return NULL;
    packet->number = frame.number;
    frame_write_header((uint8_t *)packet->data, &frame);
    if (before_len)
        memcpy(packet->data + FRAME_HEADER, before, before_len);
    if (what->payload.len)
        memcpy(packet->data + FRAME_HEADER + before_len, what->payload.data, what->payload.len);
    return packet;
}

static void send_numbered(struct stream *s, const struct frame *what, const void *before,
                          size_t before_len)
{
    struct packet *packet = make(s, what, before, before_len);

    if (!packet) {
        s->is_torn = true;
        return;
    }
    if (TAILQ_EMPTY(&s->kept))
        s->moved_ns = loop_now_ns();
    TAILQ_INSERT_TAIL(&s->kept, packet, link);
    s->kept_bytes += cost_of(packet);
    s->next_out++;
    s->has_ended |= (what->flags & FRAME_END) != 0;
    bus_send_frame(s->bus, s->subject, what->type == FRAME_OPEN ? s->reply : NULL, packet, false);
}

void stream_send(struct stream *s, enum frame_type type, unsigned flags, const void *data,
                 size_t len)
{
    const struct frame frame = {.type = (uint8_t)type,
                                .flags = (uint8_t)flags,
                                .number = s->next_out,
                                .payload = {data, len}};

    send_numbered(s, &frame, NULL, 0);
}

void stream_send_open(struct stream *s, unsigned flags, uint32_t word, const void *data, size_t len)
{
    const struct frame frame = {
        .type = FRAME_OPEN, .flags = (uint8_t)flags, .payload = {data, len}};
    const uint32_t little = htole32(word);

    send_numbered(s, &frame, &little, sizeof(little));
}

void stream_write(struct stream *s, const void *data, size_t len)
{
    const char *at = data;

    while (len) {
        size_t n = len < CLUSTER_PAYLOAD_MAX ? len : CLUSTER_PAYLOAD_MAX;

        stream_send(s, FRAME_DATA, 0, at, n);
        at += n;
        len -= n;
    }
}

void stream_end(struct stream *s)
{
    if (!s->has_ended)
        stream_send(s, FRAME_DATA, FRAME_END, NULL, 0);
}

/* Without memory it is as if it were lost. */
static void say(struct stream *s, const struct frame *frame, bool can_wait)
{
    struct packet *packet = make(s, frame, NULL, 0);

    if (packet)
        bus_send_frame(s->bus, s->subject, NULL, packet, can_wait);
    packet_unref(packet);
}

static void say_number(struct stream *s, enum frame_type type, uint64_t number)
{
    say(s, &(struct frame){.type = (uint8_t)type, .number = number}, false);
}

void stream_say_word(struct stream *s, enum frame_type type, uint32_t word)
{
    const uint32_t little = htole32(word);

    say(s,
        &(struct frame){.type = (uint8_t)type, .payload = {(const char *)&little, sizeof(little)}},
        false);
}

void stream_refuse(struct bus *bus, const char *subject, const struct frame *frame,
                   enum frame_reason reason)
{
    struct stream s;

    if (frame->type == FRAME_RESET)
        return;
    stream_init(&s, bus, subject, frame->instance, frame->exchange);
    stream_say_word(&s, FRAME_RESET, reason);
}

/* Sends what is kept from that number on. */
static void send_again(struct stream *s, uint64_t from)
{
    struct packet *packet;

    s->moved_ns = loop_now_ns();
    TAILQ_FOREACH(packet, &s->kept, link) {
        if (packet->number >= from)
            bus_send_frame(s->bus, s->subject, packet->number == 0 && *s->reply ? s->reply : NULL,
                           packet, false);
    }
}

void stream_move(struct stream *s, const char *subject, const char *reply, uint64_t exchange)
{
    struct packets old = TAILQ_HEAD_INITIALIZER(old);
    struct packet *packet, *copy;

    TAILQ_CONCAT(&old, &s->kept, link);
    (void)snprintf(s->subject, sizeof(s->subject), "%s", subject);
    (void)snprintf(s->reply, sizeof(s->reply), "%s", reply);
    s->exchange = exchange;
    s->next_in = 0;
    s->heard_ns = loop_now_ns();
    while ((packet = TAILQ_FIRST(&old)) != NULL) {
        TAILQ_REMOVE(&old, packet, link);
        copy = packet_copy(packet->data, packet->len); /* the writer may hold the old one */
        if (copy) {
            const uint64_t little = htole64(exchange);

            memcpy(copy->data + 16, &little, sizeof(little));
            copy->number = packet->number;
            TAILQ_INSERT_TAIL(&s->kept, copy, link);
        } else {
            s->kept_bytes -= cost_of(packet);
            s->is_torn = true;
        }
        packet_unref(packet);
    }
    send_again(s, 0);
}

/* --- what comes --- */

/* All before `number` has arrived and was used. */
static enum stream_result acknowledge(struct stream *s, uint64_t number)
{
    bool was_full = !stream_has_room(s);
    bool has_moved = false;

    if (number > s->next_out)
        return STREAM_BROKEN;
    while (!TAILQ_EMPTY(&s->kept) && TAILQ_FIRST(&s->kept)->number < number) {
        drop_first(s);
        has_moved = true;
    }
    if (has_moved)
        s->moved_ns = loop_now_ns();
    return was_full && stream_has_room(s) ? STREAM_ROOM : STREAM_NOTHING;
}

/* The first of several frames that come behind a gap asks for it, and then one now and then. */
static void ask_again(struct stream *s)
{
    uint64_t now = loop_now_ns();

    if (s->asked_for == s->next_in + 1 && now - s->asked_ns < AGAIN_NS)
        return;
    s->asked_for = s->next_in + 1;
    s->asked_ns = now;
    say_number(s, FRAME_AGAIN, s->next_in);
}

static enum stream_result take_numbered(struct stream *s, const struct frame *frame)
{
    if (frame->number < s->next_in)
        return STREAM_NOTHING; /* a second time */
    if (frame->number > s->next_in) {
        ask_again(s);
        return STREAM_NOTHING;
    }
    if (s->is_over_in)
        return STREAM_BROKEN;
    s->next_in++;
    s->unacked_in += frame->payload.len + FRAME_COST;
    s->is_used = false;
    s->is_over_in = (frame->flags & FRAME_END) != 0;
    return STREAM_TAKE;
}

/* The other side would send `number` next. What has come is acknowledged as the owner uses it; if
 * the owner is behind, that it has arrived is no news that helps. */
static void answer_state(struct stream *s, uint64_t number)
{
    if (number > s->next_in) {
        ask_again(s);
    } else if (s->is_used) {
        s->unacked_in = 0;
        say_number(s, FRAME_ACK, s->next_in);
    }
}

static enum stream_result take_again(struct stream *s, uint64_t number)
{
    enum stream_result result = acknowledge(s, number);
    const struct packet *first = TAILQ_FIRST(&s->kept);

    if (result == STREAM_BROKEN || (number < s->next_out && (!first || first->number > number)))
        return STREAM_BROKEN;
    send_again(s, number);
    return result;
}

enum stream_result stream_take(struct stream *s, const struct frame *frame)
{
    s->heard_ns = loop_now_ns();
    switch (frame->type) {
    case FRAME_ACK:
        return acknowledge(s, frame->number);
    case FRAME_AGAIN:
        return take_again(s, frame->number);
    case FRAME_STATE:
        answer_state(s, frame->number);
        return STREAM_NOTHING;
    case FRAME_VERDICT:
    case FRAME_RESET:
        return STREAM_OTHER;
    default:
        return take_numbered(s, frame);
    }
}

void stream_used(struct stream *s, bool is_last)
{
    s->is_used = true;
    if (!s->unacked_in || (!is_last && s->unacked_in < ACK_BYTES))
        return;
    s->unacked_in = 0;
    /* The sender of all there is to send only frees memory when it hears of it. */
    say(s, &(struct frame){.type = FRAME_ACK, .number = s->next_in}, s->is_over_in);
}

void stream_ask(struct stream *s)
{
    say_number(s, FRAME_STATE, s->next_out);
}

void stream_tick(struct stream *s, uint64_t now_ns)
{
    bool is_unsure = !TAILQ_EMPTY(&s->kept) && now_ns > s->moved_ns + UNSURE_NS;

    if (!is_unsure && now_ns < s->heard_ns + SILENT_NS)
        return;
    s->moved_ns = now_ns;
    if (!is_unsure)
        s->heard_ns = now_ns;
    stream_ask(s);
}
