#include "vm/events.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "unit.h"

static struct buf seen;
static struct events_reader *reading;

static size_t limit(void *user, const char *name)
{
    (void)user;
    return strcmp(name, "stdout") == 0 ? 100 : strcmp(name, "result") == 0 ? 4096 : 0;
}

static int on_event(void *user, const char *name, const char *data, size_t len, struct error *err)
{
    (void)user;
    return buf_printf(&seen, err, "%s=%.*s;", name, (int)len, data);
}

/* -1: refused; 0: it ends within an event; 1: it is whole. The events are in `seen`. */
static int read_cut(const char *text, size_t len, size_t piece)
{
    cleanup(events_done) struct events_reader reader;
    cleanup_error struct error err = {0};

    buf_done(&seen);
    buf_init(&seen, 64 * 1024);
    events_init(&reader, limit, on_event, NULL);
    for (size_t at = 0; at < len; at += piece)
        if (events_feed(&reader, text + at, len - at < piece ? len - at : piece, &err) < 0)
            return -1;
    return events_is_whole(&reader);
}

/* However it is cut. */
static int read_all(const char *text)
{
    int whole = read_cut(text, strlen(text), 100000);

    for (size_t piece = 1; piece < 12; piece++)
        assert_int_equal(read_cut(text, strlen(text), piece), whole);
    return whole;
}

TEST(events_are_read_however_they_are_cut)
{
    assert_int_equal(
        read_all("id: 1\nevent: stdout\ndata: {\"a\":1}\n\nevent: result\ndata: x\n\n"), 1);
    assert_string_equal(buf_str(&seen), "stdout={\"a\":1};result=x;");
    assert_int_equal(read_all("event: stdout\ndata: \n\n"), 1);
    assert_string_equal(buf_str(&seen), "stdout=;");
    buf_done(&seen);
}

static int take_data(void *user, const char *name, const char *data, size_t len, struct error *err)
{
    struct buf *taken = user;
    (void)name;
    (void)data;
    (void)len;
    (void)err;
    events_take_data(reading, taken);
    return 0;
}

TEST(data_can_be_taken_without_a_copy)
{
    static const char text[] = "event: stdout\ndata: 1\n\nevent: result\ndata: {\"a\":1}\n\n";
    cleanup(events_done) struct events_reader reader;
    cleanup(buf_done) struct buf taken = BUF_OF(KIB);
    cleanup_error struct error err = {0};

    events_init(&reader, limit, take_data, &taken);
    reading = &reader;
    assert_int_equal(events_feed(&reader, text, strlen(text), &err), 0);
    assert_true(events_is_whole(&reader));
    assert_string_equal(buf_str(&taken), "{\"a\":1}");
}

TEST(comments_and_empty_lines_are_between_events)
{
    assert_int_equal(read_all(":\n\n: more\n\n\nevent: stdout\ndata: 1\n\n:\n\n"), 1);
    assert_string_equal(buf_str(&seen), "stdout=1;");
    assert_int_equal(read_all("event: stdout\n: x\ndata: 1\n\n"), -1);
    buf_done(&seen);
}

TEST(half_an_event_is_not_whole)
{
    assert_int_equal(read_all("event: stdout\ndata: 1\n"), 0);
    assert_int_equal(read_all("id: 1\n"), 0);
    assert_int_equal(read_all("eve"), 0);
    assert_int_equal(read_all(""), 1);
    assert_string_equal(buf_str(&seen), "");
    buf_done(&seen);
}

TEST(anything_else_is_refused)
{
    static const char *const bad[] = {
        "data: 1\n\n",
        "event: stdout\n\n",
        "id: 1\n\n",
        "event: other\ndata: 1\n\n",
        "event: stdout\nevent: stdout\ndata: 1\n\n",
        "event: stdout\ndata: 1\ndata: 2\n\n",
        "event: stdout\nid: 1\ndata: 1\n\n",
        "event: stdout\r\ndata: 1\r\n\r\n",
        "event:stdout\ndata: 1\n\n",
        "event: stdout\ndata:1\n\n",
        "id: x\nevent: stdout\ndata: 1\n\n",
        "id: 1\nid: 2\nevent: stdout\ndata: 1\n\n",
        "retry: 1\n\n",
        "event: \ndata: 1\n\n",
        "id: 11111111111111111111111111111111111111111111111111111111111111111111111111111\n",
    };

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_int_equal(read_all(bad[i]), -1);
    assert_int_equal(read_cut("event: stdout\ndata: 1\n\n", 9, 9), 0);
    assert_int_equal(read_cut("event: std\0out\n", 15, 15), -1);
    buf_done(&seen);
}

TEST(data_has_the_limit_of_its_event)
{
    char text[4300] = "event: stdout\ndata: ";
    size_t at = strlen(text);

    memset(text + at, 'x', 100);
    memcpy(text + at + 100, "\n\n", 3);
    assert_int_equal(read_all(text), 1);
    memcpy(text + at + 100, "x\n\n", 4);
    assert_int_equal(read_all(text), -1);
    assert_string_equal(buf_str(&seen), "");
    buf_done(&seen);
}

UNIT_MAIN()
