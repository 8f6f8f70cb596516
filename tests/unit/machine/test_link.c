#include "machine/link.h"

#include <endian.h>

#include "unit.h"

static char way[LINK_FRAME_MAX * 4];
static size_t n_way;

static void put(const struct link_frame *frame)
{
    assert_true(n_way + LINK_FRAME_MAX <= sizeof(way));
    n_way += link_write(frame, way + n_way);
}

static void put_simple(enum link_type type, uint64_t epoch, uint64_t connection)
{
    put(&(struct link_frame){.type = type, .epoch = epoch, .connection = connection});
}

static void put_data(uint64_t epoch, uint64_t connection, const char *text)
{
    put(&(struct link_frame){.type = LINK_DATA,
                             .epoch = epoch,
                             .connection = connection,
                             .payload = {text, strlen(text)}});
}

static void put_pause(void)
{
    memset(way + n_way, 0, LINK_PAUSE);
    n_way += LINK_PAUSE;
}

/* Reads all that is on the way, in pieces of `step` bytes. The types in order, a "!" for what
 * breaks the layout. */
static const char *read_all(struct link_reader *reader, size_t step)
{
    static char seen[256];
    size_t n = 0;

    for (size_t at = 0; at < n_way; at += step) {
        const char *data = way + at;
        size_t len = n_way - at < step ? n_way - at : step;
        struct link_frame frame;
        int r;

        while ((r = link_read(reader, &data, &len, &frame)) != 0)
            seen[n++] = r < 0 ? '!' : "?HODCX"[frame.type];
        assert_int_equal(len, 0);
    }
    seen[n] = '\0';
    return seen;
}

static struct link_reader reader;

static int set_up(void **state)
{
    (void)state;
    n_way = 0;
    link_reader_init(&reader, LINK_HOST, 0);
    return 0;
}

#define LINK_TEST(name) TEST_WITH(name, set_up, NULL)

LINK_TEST(what_is_written_is_read)
{
    struct link_frame frame;
    const char *data = way;
    size_t len;

    put_simple(LINK_HELLO, 7, 0);
    put_data(7, 0x0102030405060708, "hello");
    put(&(struct link_frame){
        .type = LINK_CREDIT, .epoch = 7, .connection = 9, .credit = 0x01020304});
    len = n_way;
    assert_int_equal(link_read(&reader, &data, &len, &frame), 1);
    assert_int_equal(frame.type, LINK_HELLO);
    assert_true(frame.epoch == 7);
    assert_int_equal(link_read(&reader, &data, &len, &frame), 1);
    assert_true(frame.connection == 0x0102030405060708);
    assert_int_equal(frame.payload.len, 5);
    assert_memory_equal(frame.payload.data, "hello", 5);
    assert_int_equal(link_read(&reader, &data, &len, &frame), 1);
    assert_true(frame.credit == 0x01020304);
    assert_int_equal(link_read(&reader, &data, &len, &frame), 0);
}

LINK_TEST(frames_may_come_in_any_pieces)
{
    put_simple(LINK_HELLO, 7, 0);
    put_simple(LINK_OPEN, 7, 1);
    put_data(7, 1, "hello");
    put_simple(LINK_CLOSE, 7, 1);
    for (size_t step = 1; step <= n_way; step++) {
        link_reader_init(&reader, LINK_HOST, 0);
        assert_string_equal(read_all(&reader, step), "HODX");
    }
}

LINK_TEST(nothing_is_read_before_an_epoch_begins)
{
    put_simple(LINK_OPEN, 7, 1);
    put_data(7, 1, "rest of somebody else's");
    put_simple(LINK_HELLO, 7, 0);
    put_simple(LINK_OPEN, 7, 1);
    assert_string_equal(read_all(&reader, 5), "HO");
}

LINK_TEST(frames_of_a_former_epoch_are_dropped)
{
    put_simple(LINK_HELLO, 7, 0);
    put_simple(LINK_OPEN, 6, 1);
    put_simple(LINK_HELLO, 6, 0);
    put_simple(LINK_HELLO, 7, 0);
    put_simple(LINK_OPEN, 8, 1);
    put_simple(LINK_HELLO, 8, 0);
    put_data(7, 1, "late");
    put_simple(LINK_OPEN, 8, 1);
    assert_string_equal(read_all(&reader, 1000), "HHO");
}

LINK_TEST(a_host_that_comes_back_is_understood_wherever_the_former_one_stopped)
{
    size_t whole;

    put_simple(LINK_HELLO, 7, 0);
    put_data(7, 1, "a frame that is cut somewhere");
    whole = n_way;
    for (size_t cut = 1; cut <= whole; cut++) {
        const char *seen;

        n_way = 0;
        put_simple(LINK_HELLO, 7, 0);
        put_data(7, 1, "a frame that is cut somewhere");
        n_way = cut;
        put_pause();
        put_simple(LINK_HELLO, 8, 0);
        put_simple(LINK_OPEN, 8, 1);
        link_reader_init(&reader, LINK_HOST, 0);
        seen = read_all(&reader, 4096);
        /* Nothing but what was whole, and then the new epoch. */
        assert_string_equal(seen + strlen(seen) - 2, "HO");
        assert_null(strchr(cut < whole ? seen : "", 'D'));
    }
}

LINK_TEST(each_side_has_frames_of_its_own)
{
    put_simple(LINK_HELLO, 7, 0);
    put_simple(LINK_OPEN, 7, 1);
    link_reader_init(&reader, LINK_MACHINE, 7);
    assert_string_equal(read_all(&reader, 4096), "H!");
}

LINK_TEST(the_host_waits_for_the_answer_to_its_own_epoch)
{
    put_simple(LINK_HELLO, 8, 0);
    put_simple(LINK_HELLO, 6, 0);
    put_data(7, 1, "early");
    put_simple(LINK_HELLO, 7, 0);
    put_data(7, 1, "right");
    link_reader_init(&reader, LINK_MACHINE, 7);
    assert_string_equal(read_all(&reader, 3), "HD");
}

LINK_TEST(a_mistake_in_any_byte_of_the_frame_is_found_or_harmless)
{
    size_t start;

    put_simple(LINK_HELLO, 7, 0);
    start = n_way;
    put_data(7, 1, "hello");
    for (size_t i = start; i < n_way; i++) {
        way[i] ^= 0x40;
        link_reader_init(&reader, LINK_HOST, 0);
        (void)read_all(&reader, 4096);
        assert_true(reader.len <= LINK_FRAME_MAX);
        way[i] ^= 0x40;
    }
}

LINK_TEST(lengths_that_lie_are_refused_before_their_bytes_come)
{
    static const struct {
        enum link_type type;
        uint16_t len;
        uint64_t connection;
    } wrong[] = {
        {LINK_DATA, 0, 1},  {LINK_DATA, LINK_DATA_MAX + 1, 1},
        {LINK_DATA, 5, 0},  {LINK_OPEN, 1, 1},
        {LINK_OPEN, 0, 0},  {LINK_CREDIT, 3, 1},
        {LINK_CLOSE, 9, 1}, {LINK_HELLO, 1, 0},
        {LINK_HELLO, 0, 1}, {0, 0, 1},
        {6, 0, 1},
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        uint16_t len = htole16(wrong[i].len);
        uint64_t connection = htole64(wrong[i].connection);

        n_way = 0;
        put_simple(LINK_HELLO, 7, 0);
        put_simple(LINK_OPEN, 7, 1);
        way[n_way - 28 + 4] = (char)wrong[i].type;
        memcpy(way + n_way - 28 + 6, &len, sizeof(len));
        memcpy(way + n_way - 28 + 16, &connection, sizeof(connection));
        n_way -= LINK_TAIL_SIZE;
        link_reader_init(&reader, LINK_HOST, 0);
        assert_string_equal(read_all(&reader, 4096), "H!");
    }
}

UNIT_MAIN()
