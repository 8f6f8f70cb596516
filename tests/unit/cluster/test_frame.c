#include "cluster/frame.h"

#include "unit.h"

static struct frame sample(uint8_t type, const char *payload, size_t len)
{
    return (struct frame){.type = type,
                          .instance = 0x0102030405060708,
                          .exchange = 77,
                          .number = 3,
                          .payload = {payload, len}};
}

/* The bytes of one. */
static size_t put(const struct frame *frame, char *bytes)
{
    frame_write_header((uint8_t *)bytes, frame);
    if (frame->payload.len)
        memcpy(bytes + FRAME_HEADER, frame->payload.data, frame->payload.len);
    return FRAME_HEADER + frame->payload.len;
}

TEST(what_is_written_is_read)
{
    struct frame in = sample(FRAME_DATA, "hello", 5), out;
    char bytes[64];
    size_t len;

    in.flags = FRAME_END;
    len = put(&in, bytes);
    assert_int_equal(frame_read(bytes, len, FRAME_NODE, &out), len);
    assert_int_equal(out.type, FRAME_DATA);
    assert_int_equal(out.flags, FRAME_END);
    assert_true(out.instance == in.instance && out.exchange == 77 && out.number == 3);
    assert_int_equal(out.payload.len, 5);
    assert_memory_equal(out.payload.data, "hello", 5);
}

TEST(a_length_that_lies_is_refused)
{
    struct frame frame = sample(FRAME_DATA, "hello", 5);
    char bytes[64];
    size_t len = put(&frame, bytes);

    for (size_t n = 0; n < len; n++)
        assert_int_equal(frame_read(bytes, n, FRAME_NODE, &frame), -1);
    bytes[7] = 1;
    assert_int_equal(frame_read(bytes, len, FRAME_NODE, &frame), -1);
}

TEST(several_are_read_one_after_the_other)
{
    const struct frame in[] = {sample(FRAME_ACK, NULL, 0), sample(FRAME_DATA, "hello", 5),
                               sample(FRAME_DATA, NULL, 0)};
    char bytes[256];
    struct frame out;
    size_t len = 0, at = 0;

    for (size_t i = 0; i < sizeof(in) / sizeof(*in); i++)
        len += put(&in[i], bytes + len);
    for (size_t i = 0; i < sizeof(in) / sizeof(*in); i++) {
        at += (size_t)frame_read(bytes + at, len - at, FRAME_NODE, &out);
        assert_int_equal(out.type, in[i].type);
        assert_int_equal(out.payload.len, in[i].payload.len);
    }
    assert_int_equal(at, len);
    /* The last one is cut off. */
    assert_int_equal(frame_read(bytes + FRAME_HEADER, FRAME_HEADER + 4, FRAME_NODE, &out), -1);
}

TEST(more_than_a_chunk_is_refused)
{
    static char bytes[FRAME_MAX + 1];
    struct frame frame = sample(FRAME_DATA, NULL, 0);

    frame.payload = (struct span){bytes + FRAME_HEADER, CLUSTER_PAYLOAD_MAX};
    frame_write_header((uint8_t *)bytes, &frame);
    assert_int_equal(frame_read(bytes, FRAME_MAX, FRAME_NODE, &frame), FRAME_MAX);
    frame.payload.len++;
    frame_write_header((uint8_t *)bytes, &frame);
    assert_int_equal(frame_read(bytes, FRAME_MAX + 1, FRAME_NODE, &frame), -1);
}

TEST(each_side_sends_its_own_types_only)
{
    static const struct {
        uint8_t type;
        size_t len;
        bool of_gateway, of_node;
    } rows[] = {
        {FRAME_OPEN, 4, true, false},    {FRAME_GO, 0, true, false},  {FRAME_HEAD, 1, false, true},
        {FRAME_VERDICT, 4, false, true}, {FRAME_DATA, 0, true, true}, {FRAME_RESET, 4, true, true},
        {FRAME_ACK, 0, true, true},
    };
    char bytes[64];

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct frame frame = sample(rows[i].type, "abcd", rows[i].len), out;
        size_t len = put(&frame, bytes);

        assert_int_equal(frame_read(bytes, len, FRAME_GATEWAY, &out),
                         rows[i].of_gateway ? (int)len : -1);
        assert_int_equal(frame_read(bytes, len, FRAME_NODE, &out), rows[i].of_node ? (int)len : -1);
    }
}

TEST(types_versions_and_flags_that_are_none_are_refused)
{
    static const struct {
        size_t at;
        char value;
    } rows[] = {{0, 0}, {0, 2}, {1, 0}, {1, 10}, {1, 127}, {2, 2}, {3, 1}};
    struct frame frame = sample(FRAME_DATA, "x", 1), out;
    char bytes[64];

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        size_t len = put(&frame, bytes);

        bytes[rows[i].at] = rows[i].value;
        assert_int_equal(frame_read(bytes, len, FRAME_NODE, &out), -1);
    }
    frame = sample(FRAME_ACK, NULL, 0);
    frame.flags = FRAME_END;
    assert_int_equal(frame_read(bytes, put(&frame, bytes), FRAME_NODE, &out), -1);
}

TEST(subjects_name_who_and_from_whom)
{
    struct subject_names names;
    uint64_t exchange;

    assert_true(subject_read("belljar.v1.node.a1.b2", "node", &names));
    assert_string_equal(names.name, "a1");
    assert_string_equal(names.sender, "b2");
    assert_true(subject_read("belljar.v1.alive.node.a1", "alive.node", &names));
    assert_string_equal(names.sender, "");
    assert_false(subject_read("belljar.v1.node.a1.b2.c", "node", &names));
    assert_false(subject_read("belljar.v1.node..b2", "node", &names));
    assert_false(subject_read("belljar.v1.node.a1.", "node", &names));
    assert_false(subject_read("belljar.v1.node.A1.b2", "node", &names));
    assert_false(subject_read("belljar.v1.node.aaaaaaaaaaaaa.b2", "node", &names));
    assert_false(subject_read("belljar.v2.node.a1.b2", "node", &names));
    assert_true(subject_read_reply("belljar.v1.gate.a1.12", &exchange));
    assert_true(exchange == 12);
    assert_false(subject_read_reply("belljar.v1.gate.a1.b2", &exchange));
    assert_false(subject_read_reply("belljar.v1.gate.a1.", &exchange));
    assert_false(subject_read_reply("belljar.v1.gate.a1.99999999999999999999", &exchange));
}

UNIT_MAIN()
