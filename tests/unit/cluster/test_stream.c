/* Two streams over a bus that this file is: it loses, keeps and repeats what it is told to. */
#include "cluster/stream.h"

#include <stdio.h>

#include "base/loop.h"
#include "unit.h"

uint64_t __wrap_loop_now_ns(void);

static uint64_t now_ns = 1000000000;

uint64_t __wrap_loop_now_ns(void)
{
    return now_ns;
}

#define ON_THE_WAY 65536

static struct {
    char subject[CLUSTER_SUBJECT_MAX];
    struct packet *packet;
} way[ON_THE_WAY];

static size_t n_way;
static unsigned lost_of_ten;
static unsigned seed;
static struct bus *const the_bus = (struct bus *)(uintptr_t)8;

static unsigned next_random(void)
{
    seed = seed * 1103515245 + 12345;
    return seed >> 16 & 0x7fff;
}

void bus_send_frame(struct bus *bus, const char *subject, const char *reply, struct packet *packet,
                    bool can_wait)
{
    (void)bus;
    (void)reply;
    (void)can_wait;
    if (next_random() % 10 < lost_of_ten)
        return;
    assert_true(n_way < ON_THE_WAY);
    (void)atomic_fetch_add(&packet->refs, 1);
    (void)snprintf(way[n_way].subject, sizeof(way[0].subject), "%s", subject);
    way[n_way++].packet = packet;
}

/* One end, and what it has got. */
struct end {
    struct stream stream;
    enum frame_side side;
    char got[1 << 16];
    size_t len;
    bool is_over, is_behind, is_broken;
};

static struct end gate, node;

static void deliver_one(struct end *to, const struct packet *packet)
{
    struct frame frame;

    assert_int_equal(
        frame_read(packet->data, packet->len, to == &gate ? FRAME_NODE : FRAME_GATEWAY, &frame),
        packet->len);
    switch (stream_take(&to->stream, &frame)) {
    case STREAM_TAKE:
        if (frame.type == FRAME_DATA && to->len + frame.payload.len <= sizeof(to->got)) {
            memcpy(to->got + to->len, frame.payload.data, frame.payload.len);
            to->len += frame.payload.len;
        }
        to->is_over |= frame.flags & FRAME_END;
        if (!to->is_behind)
            stream_used(&to->stream, false);
        break;
    case STREAM_BROKEN:
        to->is_broken = true;
        break;
    default:
        break;
    }
}

/* Until nothing is on its way; now and then two change places. */
static void deliver(void)
{
    for (size_t i = 0; i < n_way; i++) {
        deliver_one(strcmp(way[i].subject, "node") == 0 ? &node : &gate, way[i].packet);
        packet_unref(way[i].packet);
    }
    n_way = 0;
}

static void lose_all(void)
{
    for (size_t i = 0; i < n_way; i++)
        packet_unref(way[i].packet);
    n_way = 0;
}

static void begin(unsigned loss)
{
    stream_done(&gate.stream);
    stream_done(&node.stream);
    gate = node = (struct end){0};
    lost_of_ten = loss;
    seed = 4711 + loss;
    stream_init(&gate.stream, the_bus, "node", 1, 2);
    stream_init(&node.stream, the_bus, "gate", 1, 2);
}

static void end(void)
{
    stream_done(&gate.stream);
    stream_done(&node.stream);
    lose_all();
}

static void pass_time(unsigned ms)
{
    now_ns += (uint64_t)ms * 1000000;
    stream_tick(&gate.stream, now_ns);
    stream_tick(&node.stream, now_ns);
}

TEST(everything_arrives_once_and_in_order_whatever_is_lost)
{
    for (unsigned loss = 0; loss < 6; loss++) {
        char expected[1 << 16];
        size_t sent = 0;

        begin(loss);
        stream_send_open(&gate.stream, FRAME_END, 0, "head", 4);
        for (unsigned round = 0; round < 20000 && !gate.is_over; round++) {
            if (node.stream.next_in && sent < 60000 && stream_has_room(&node.stream)) {
                size_t n = 1 + next_random() % 300;

                memset(expected + sent, (int)(round & 0xff), n);
                stream_write(&node.stream, expected + sent, n);
                sent += n;
            } else if (sent >= 60000) {
                stream_end(&node.stream);
            }
            deliver();
            pass_time(50);
        }
        assert_true(gate.is_over && !gate.is_broken && !node.is_broken);
        assert_int_equal(gate.len, sent);
        assert_memory_equal(gate.got, expected, sent);
        end();
    }
}

TEST(what_is_acknowledged_is_not_kept)
{
    begin(0);
    stream_send_open(&gate.stream, 0, 1, "head", 4);
    deliver();
    assert_false(TAILQ_EMPTY(&gate.stream.kept));
    pass_time(400); /* it asks, and is told */
    deliver();
    deliver();
    assert_true(TAILQ_EMPTY(&gate.stream.kept));
    assert_int_equal(gate.stream.kept_bytes, 0);
    end();
}

TEST(a_reader_that_is_behind_stops_the_sender)
{
    static const char piece[4096];
    size_t sent = 0;

    begin(0);
    gate.is_behind = true;
    while (stream_has_room(&node.stream)) {
        stream_write(&node.stream, piece, sizeof(piece));
        sent += sizeof(piece);
        lose_all(); /* nobody looks at them: only the window counts */
    }
    assert_true(sent <= CLUSTER_WINDOW);
    for (unsigned i = 0; i < 20; i++) {
        pass_time(400);
        deliver();
    }
    assert_false(stream_has_room(&node.stream));
    gate.is_behind = false;
    stream_used(&gate.stream, true);
    deliver();
    assert_true(stream_has_room(&node.stream));
    end();
}

TEST(what_was_never_sent_cannot_be_acknowledged)
{
    const struct frame ack = {.type = FRAME_ACK, .number = 2};
    const struct frame again = {.type = FRAME_AGAIN, .number = 9};

    begin(0);
    stream_write(&node.stream, "x", 1);
    assert_int_equal(stream_take(&node.stream, &ack), STREAM_BROKEN);
    assert_int_equal(stream_take(&node.stream, &again), STREAM_BROKEN);
    end();
}

TEST(what_was_acknowledged_cannot_be_asked_for_again)
{
    const struct frame ack = {.type = FRAME_ACK, .number = 1};
    const struct frame again = {.type = FRAME_AGAIN, .number = 0};

    begin(0);
    stream_write(&node.stream, "x", 1);
    stream_write(&node.stream, "y", 1);
    assert_int_equal(stream_take(&node.stream, &ack), STREAM_NOTHING);
    assert_int_equal(stream_take(&node.stream, &again), STREAM_BROKEN);
    end();
}

TEST(nothing_comes_behind_the_end)
{
    const struct frame last = {.type = FRAME_DATA, .flags = FRAME_END, .number = 0};
    const struct frame more = {.type = FRAME_DATA, .number = 1};

    begin(0);
    assert_int_equal(stream_take(&gate.stream, &last), STREAM_TAKE);
    assert_int_equal(stream_take(&gate.stream, &last), STREAM_NOTHING);
    assert_int_equal(stream_take(&gate.stream, &more), STREAM_BROKEN);
    end();
}

TEST(what_was_sent_goes_to_another_one_as_it_was)
{
    struct frame frame;

    begin(0);
    stream_send_open(&gate.stream, 0, OPEN_FRESH, "head", 4);
    stream_write(&gate.stream, "body", 4);
    lose_all(); /* the first one is silent */
    stream_move(&gate.stream, "node", "reply", 3);
    node.stream.exchange = 3;
    assert_int_equal(n_way, 2);
    assert_int_equal(frame_read(way[0].packet->data, way[0].packet->len, FRAME_GATEWAY, &frame),
                     way[0].packet->len);
    assert_true(frame.exchange == 3 && frame.type == FRAME_OPEN);
    deliver();
    assert_int_equal(node.len, 4);
    assert_memory_equal(node.got, "body", 4);
    end();
}

UNIT_MAIN()
