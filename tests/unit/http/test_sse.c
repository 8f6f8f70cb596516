#include "unit.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "http/sse.h"

/* In place of a connection: what was written, and whether there is room. */
static struct buf written;
static bool has_room = true, is_ended;

void request_begin(struct request *request, int status, const char *type, const char *headers,
                   uint64_t length)
{
    (void)request;
    (void)headers;
    assert_int_equal(status, 200);
    assert_string_equal(type, "text/event-stream");
    assert_true(length == REQUEST_UNKNOWN_LENGTH);
}

static int shared_writes;

bool request_write(struct request *request, const void *data, size_t len)
{
    (void)request;
    assert_int_equal(buf_add(&written, data, len, NULL), 0);
    return has_room;
}

bool request_write_shared(struct request *request, struct shared *data, size_t len)
{
    shared_writes++;
    return request_write(request, data->text.data, len);
}

void request_end(struct request *request)
{
    (void)request;
    is_ended = true;
}

static int begin(void **state)
{
    (void)state;
    buf_done(&written);
    buf_init(&written, 64 * MIB);
    has_room = true;
    is_ended = false;
    return 0;
}

static void add(struct sse *sse, const char *data)
{
    assert_int_equal(sse_add(sse, "stdout", data, strlen(data), NULL), 0);
}

TEST_WITH(events_have_names_and_numbers, begin, NULL)
{
    struct request reader = {0};
    struct sse sse;

    sse_init(&sse);
    add(&sse, "1");
    sse_attach(&sse, &reader, 0);
    add(&sse, "2");
    assert_string_equal(buf_str(&written),
                        "id: 1\nevent: stdout\ndata: 1\n\nid: 2\nevent: stdout\ndata: 2\n\n");
    assert_false(is_ended);
    sse_finish(&sse);
    assert_true(is_ended);
    assert_null(sse.reader);
    sse_done(&sse);
}

TEST_WITH(long_data_is_written_as_it_stands_and_not_copied, begin, NULL)
{
    struct shared *data = shared_new();
    struct request reader = {0};
    struct sse sse;

    assert_non_null(data);
    for (size_t i = 0; i < 10000; i++)
        assert_int_equal(buf_add_str(&data->text, "0123456789", NULL), 0);
    sse_init(&sse);
    sse_attach(&sse, &reader, 0);
    shared_writes = 0;
    assert_int_equal(sse_add_shared(&sse, "result", data, 3, NULL), 0);
    assert_int_equal(shared_writes, 0);
    assert_string_equal(buf_str(&written), "id: 1\nevent: result\ndata: 012\n\n");
    buf_clear(&written);
    assert_int_equal(sse_add_shared(&sse, "result", data, 99999, NULL), 0);
    assert_int_equal(shared_writes, 1);
    assert_int_equal(written.len, strlen("id: 2\nevent: result\ndata: \n\n") + 99999);
    assert_memory_equal(written.data, "id: 2\nevent: result\ndata: 0123", 30);
    assert_memory_equal(written.data + written.len - 5, "678\n\n", 5);
    assert_int_equal(sse.sent_bytes, written.len + strlen("id: 1\nevent: result\ndata: 012\n\n"));
    assert_int_equal(data->references, 2);
    sse_done(&sse);
    assert_int_equal(data->references, 1);
    shared_unref(data);
}

TEST_WITH(ids_may_have_a_prefix_and_begin_with_a_word_of_when, begin, NULL)
{
    struct request reader = {0};
    struct sse sse;

    sse_init(&sse);
    memcpy(sse.prefix, "7-", 3);
    sse.is_silent = true;
    assert_int_equal(sse_prime(&sse, 500, NULL), 0);
    add(&sse, "1");
    sse_attach(&sse, &reader, 0);
    assert_string_equal(buf_str(&written),
                        "id: 7-1\nretry: 500\ndata: \n\nid: 7-2\nevent: stdout\ndata: 1\n\n");
    sse_done(&sse);
}

TEST_WITH(who_comes_without_an_id_gets_what_nobody_got, begin, NULL)
{
    struct request one = {0}, two = {0};
    struct sse sse;

    sse_init(&sse);
    sse_attach(&sse, &one, 0);
    add(&sse, "1");
    sse_detach(&sse);
    add(&sse, "2");
    buf_clear(&written);
    sse_attach(&sse, &two, SSE_UNREAD);
    assert_string_equal(buf_str(&written), "id: 2\nevent: stdout\ndata: 2\n\n");
    sse_done(&sse);
}

TEST_WITH(events_may_have_no_ids, begin, NULL)
{
    struct request reader = {0};
    struct sse sse;

    sse_init(&sse);
    sse.has_no_ids = true;
    sse_attach(&sse, &reader, 0);
    add(&sse, "1");
    assert_string_equal(buf_str(&written), "event: stdout\ndata: 1\n\n");
    sse_done(&sse);
}

TEST_WITH(who_comes_back_goes_on_behind_what_he_saw, begin, NULL)
{
    struct request one = {0}, two = {0};
    struct sse sse;

    sse_init(&sse);
    sse_attach(&sse, &one, 0);
    add(&sse, "1");
    add(&sse, "2");
    sse_detach(&sse);
    add(&sse, "3");
    sse_finish(&sse);
    buf_clear(&written);
    sse_attach(&sse, &two, 1);
    assert_string_equal(buf_str(&written),
                        "id: 2\nevent: stdout\ndata: 2\n\nid: 3\nevent: stdout\ndata: 3\n\n");
    assert_true(is_ended);
    sse_done(&sse);
}

TEST_WITH(a_second_reader_takes_the_place_of_the_first, begin, NULL)
{
    struct request one = {0}, two = {0};
    struct sse sse;

    sse_init(&sse);
    sse_attach(&sse, &one, 0);
    sse_attach(&sse, &two, 0);
    assert_true(is_ended);
    assert_ptr_equal(sse.reader, &two);
    sse_done(&sse);
}

TEST_WITH(a_reader_without_room_is_behind, begin, NULL)
{
    static char much[SSE_BEHIND];
    struct request reader = {0};
    struct sse sse;

    memset(much, 'x', sizeof(much) - 1);
    sse_init(&sse);
    has_room = false;
    sse_attach(&sse, &reader, 0);
    add(&sse, much); /* the last that went out */
    assert_false(sse_is_behind(&sse));
    sse.reader = NULL; /* a pump that is not called */
    add(&sse, much);
    assert_true(sse_is_behind(&sse));
    sse.reader = &reader;
    sse_pump(&sse);
    assert_false(sse_is_behind(&sse));
    sse_done(&sse);
}

TEST_WITH(what_was_sent_is_kept_up_to_a_bound_and_the_gap_is_told, begin, NULL)
{
    static char much[64 * KIB];
    struct request reader = {0};
    struct sse sse;

    memset(much, 'x', sizeof(much) - 1);
    sse_init(&sse);
    sse_attach(&sse, &reader, 0);
    for (int i = 0; i < 40; i++)
        add(&sse, much);
    assert_true(sse.sent_bytes <= SSE_KEPT);
    sse_detach(&sse);
    buf_clear(&written);
    sse_attach(&sse, &reader, 3);
    assert_contains(buf_str(&written), "event: gap\ndata: {\"missed\":22}\n\n");
    buf_clear(&written);
    sse_attach(&sse, &reader, 39);
    assert_true(strncmp(buf_str(&written), "id: 40\n", 7) == 0);
    sse_done(&sse);
}

TEST_WITH(a_comment_comes_only_where_nothing_else_does, begin, NULL)
{
    struct request reader = {0};
    struct sse sse;

    sse_init(&sse);
    sse_keep_alive(&sse);
    sse_attach(&sse, &reader, 0);
    sse_keep_alive(&sse);
    assert_string_equal(buf_str(&written), ":\n\n");
    sse_done(&sse);
}

TEST(a_text_is_one_event_without_an_id)
{
    cleanup(buf_done) struct buf text = BUF_OF(64), little = BUF_OF(20);
    json_t *data = json_pack("{s:s}", "text", "a\nb");

    assert_int_equal(sse_text_add(&text, "stdout", data, NULL), 0);
    assert_string_equal(buf_str(&text), "event: stdout\ndata: {\"text\":\"a\\nb\"}\n\n");
    assert_true(sse_text_add(&little, "stdout", data, NULL) < 0);
    json_decref(data);
}

int main(void)
{
    int r = unit_run(NULL, NULL);

    buf_done(&written);
    return r;
}
