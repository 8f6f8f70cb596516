#include "unit.h"

#include <stdio.h>

#include "http/listener_message.h"
#include "http/request_rules.h"

/* --- frames --- */

static ssize_t parse(enum listener_side from, enum listener_type type, uint64_t connection,
                     size_t len, size_t there)
{
    static uint8_t bytes[LISTENER_FRAME_MAX + 1024];
    struct listener_frame frame;

    listener_frame_header(bytes, type, connection, len);
    return listener_frame_parse(bytes, there, from, &frame);
}

TEST(a_frame_is_taken_when_all_of_it_is_there)
{
    const size_t all = LISTENER_HEADER_BYTES + 100;

    for (size_t n = 0; n < all; n++)
        assert_int_equal(parse(LISTENER_ITSELF, LISTENER_BODY, 7, 100, n), 0);
    assert_int_equal(parse(LISTENER_ITSELF, LISTENER_BODY, 7, 100, all), all);
    assert_int_equal(parse(LISTENER_ITSELF, LISTENER_BODY, 7, 100, all + 50), all);
}

/* The header is enough: nobody waits for the rest of what will be refused. */
TEST(what_a_side_must_not_say_is_refused)
{
    static const struct {
        enum listener_side from;
        enum listener_type type;
        uint64_t connection;
        size_t len;
    } wrong[] = {
        {LISTENER_ITSELF, (enum listener_type)0, 1, 0},
        {LISTENER_ITSELF, (enum listener_type)99, 1, 0},
        {LISTENER_ITSELF, LISTENER_SETUP, 0, 24},
        {LISTENER_ITSELF, LISTENER_DATA, 1, 10},
        {LISTENER_ITSELF, LISTENER_CUT, 1, 0},
        {LISTENER_ENGINE, LISTENER_HEAD, 1, 100},
        {LISTENER_ENGINE, LISTENER_BODY, 1, 100},
        {LISTENER_ITSELF, LISTENER_READY, 1, 0},
        {LISTENER_ITSELF, LISTENER_READY, 0, 1},
        {LISTENER_ITSELF, LISTENER_FAILED, 0, 4097},
        {LISTENER_ITSELF, LISTENER_HEAD, 0, 100},
        {LISTENER_ITSELF, LISTENER_HEAD, 1, 15},
        {LISTENER_ITSELF, LISTENER_HEAD, 1, 20 * KIB},
        {LISTENER_ITSELF, LISTENER_BODY, 1, 0},
        {LISTENER_ITSELF, LISTENER_BODY, 1, LISTENER_PIECE + 1},
        {LISTENER_ITSELF, LISTENER_BODY, 1, UINT32_MAX},
        {LISTENER_ITSELF, LISTENER_WHOLE, 1, 1},
        {LISTENER_ITSELF, LISTENER_WRITTEN, 1, 3},
        {LISTENER_ITSELF, LISTENER_WRITTEN, 1, 8},
        {LISTENER_ITSELF, LISTENER_MISTAKE, 1, 9 + LISTENER_WORDS_MAX},
        {LISTENER_ITSELF, LISTENER_GONE, 1, 4},
        {LISTENER_ITSELF, LISTENER_OPEN, 1, 4},
        {LISTENER_ENGINE, LISTENER_FRAME, 1, 4},
        {LISTENER_ITSELF, LISTENER_FRAME, 1, 0},
        {LISTENER_ITSELF, LISTENER_FRAME, 1, LISTENER_PIECE + 1},
        {LISTENER_ITSELF, LISTENER_BROKEN, 1, 2},
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        if (parse(wrong[i].from, wrong[i].type, wrong[i].connection, wrong[i].len,
                  LISTENER_HEADER_BYTES) != -1)
            fail_msg("row %zu was taken", i);
}

/* --- heads --- */

static const struct http_head plain = {
    .method = {"POST", 4},
    .target = {"/v1/run?wait=1", 14},
    .headers = {{{"Host", 4}, {"localhost", 9}},
                {{"Content-Length", 14}, {"12", 2}},
                {{"X-Empty", 7}, {"", 0}}},
    .n_headers = 3,
};

static bool read_back(const struct http_head *head, bool is_waiting, struct pack *p,
                      struct http_head *ret_head)
{
    struct listener_frame frame = {.type = LISTENER_HEAD, .connection = 1};

    pack_init(p, MIB);
    listener_head_write(p, head, is_waiting);
    assert_false(p->failed);
    frame.data = (const char *)p->data;
    frame.len = p->len;
    return listener_head_read(&frame, ret_head);
}

TEST(a_head_comes_as_it_was_read)
{
    struct http_head head;
    struct pack p;

    assert_true(read_back(&plain, false, &p, &head));
    assert_true(span_is(head.method, "POST") && span_is(head.path, "/v1/run") &&
                span_is(head.query, "wait=1"));
    assert_int_equal(head.n_headers, 3);
    assert_true(span_is(http_head_get(&head, "host"), "localhost"));
    assert_non_null(http_head_get(&head, "x-empty").data);
    assert_int_equal(head.framing, HTTP_LENGTH);
    assert_int_equal(head.length, 12);
    assert_true(head.keeps_alive);
    assert_false(head.expects_continue);
    pack_done(&p);
}

/* The listener can only take it back, not make it up. */
TEST(only_who_expects_it_waits_for_continue)
{
    struct http_head expecting = plain, head;
    struct pack p;

    assert_true(read_back(&plain, true, &p, &head));
    assert_false(head.expects_continue);
    pack_done(&p);
    expecting.headers[2] = (struct http_header){{"Expect", 6}, {"100-continue", 12}};
    for (int waits = 0; waits < 2; waits++) {
        assert_true(read_back(&expecting, waits, &p, &head));
        assert_int_equal(head.expects_continue, waits);
        pack_done(&p);
    }
}

#define TEXT(text)                                                                                 \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }
#define LINE(name, value)                                                                          \
    {                                                                                              \
        TEXT(name), TEXT(value)                                                                    \
    }
#define WITH(...)                                                                                  \
    .headers = {__VA_ARGS__},                                                                      \
    .n_headers = sizeof((struct http_header[]){__VA_ARGS__}) / sizeof(struct http_header)
#define HOST LINE("Host", "localhost")

/* clang-format off */
static const struct http_head wrong[] = {
    {.method = TEXT("get"), .target = TEXT("/"), WITH(HOST)},
    {.method = TEXT(""), .target = TEXT("/"), WITH(HOST)},
    {.method = TEXT("GET"), .target = TEXT(""), WITH(HOST)},
    {.method = TEXT("GET"), .target = TEXT("x"), WITH(HOST)},
    {.method = TEXT("GET"), .target = TEXT("/a b"), WITH(HOST)},
    {.method = TEXT("GET"), .target = TEXT("/a\0b"), WITH(HOST)},
    {.method = TEXT("GET"), .target = TEXT("/%00"), WITH(HOST)},
    {.method = TEXT("GET"), .target = TEXT("/%zz"), WITH(HOST)},
    {.method = TEXT("GET"), .target = TEXT("/"), WITH(LINE("X", "1"))},
    {.method = TEXT("GET"), .target = TEXT("/"), WITH(HOST, HOST)},
    {.method = TEXT("GET"), .target = TEXT("/"), WITH(LINE("Host", "a\r\nX: b"))},
    {.method = TEXT("GET"), .target = TEXT("/"), WITH(HOST, LINE("X", "a\r\nY: b"))},
    {.method = TEXT("GET"), .target = TEXT("/"), WITH(HOST, LINE("X", " a"))},
    {.method = TEXT("GET"), .target = TEXT("/"), WITH(HOST, LINE("X", "a\0b"))},
    {.method = TEXT("GET"), .target = TEXT("/"), WITH(HOST, LINE("", "a"))},
    {.method = TEXT("GET"), .target = TEXT("/"), WITH(HOST, LINE("X y", "a"))},
    {.method = TEXT("GET"), .target = TEXT("/"), WITH(HOST, LINE("X:", "a"))},
    {.method = TEXT("POST"), .target = TEXT("/"), WITH(HOST, LINE("Content-Length", "-1"))},
    {.method = TEXT("POST"), .target = TEXT("/"), WITH(HOST, LINE("Content-Length", "1"), LINE("Content-Length", "2"))},
    {.method = TEXT("POST"), .target = TEXT("/"), WITH(HOST, LINE("Content-Length", "1"), LINE("Transfer-Encoding", "chunked"))},
    {.method = TEXT("POST"), .target = TEXT("/"), WITH(HOST, LINE("Transfer-Encoding", "gzip"))},
    {.method = TEXT("POST"), .target = TEXT("/"), WITH(HOST, LINE("Expect", "tea"))},
    {.method = TEXT("POST"), .target = TEXT("/"), WITH(HOST, LINE("Authorization", "a"), LINE("authorization", "b"))},
};
/* clang-format on */

TEST(a_head_that_no_reader_lets_through_is_refused)
{
    struct http_head head;
    struct pack p;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        if (read_back(&wrong[i], false, &p, &head))
            fail_msg("row %zu was taken", i);
        pack_done(&p);
    }
}

TEST(a_head_has_bounds)
{
    static char much[HTTP_HEAD_BYTES];
    struct http_head many = plain, head;
    struct pack p;

    memset(much, 'a', sizeof(much));
    many.headers[2].value = (struct span){much, sizeof(much)};
    assert_false(read_back(&many, false, &p, &head));
    pack_done(&p);
    many.headers[2].value = (struct span){much, sizeof(much) / 2};
    assert_true(read_back(&many, false, &p, &head));
    pack_done(&p);
    many = plain;
    many.n_headers = HTTP_REQUEST_HEADERS;
    for (size_t i = 2; i <= HTTP_REQUEST_HEADERS; i++)
        many.headers[i] = (struct http_header){{"X", 1}, {"y", 1}};
    assert_true(read_back(&many, false, &p, &head));
    pack_done(&p);
    many.n_headers++;
    assert_false(read_back(&many, false, &p, &head));
    pack_done(&p);
}

/* --- mistakes --- */

static bool read_mistake(int status, const char *words, struct listener_mistake *ret_mistake)
{
    struct listener_frame frame = {.type = LISTENER_MISTAKE, .connection = 1};
    struct pack p;
    bool r;

    pack_init(&p, MIB);
    listener_mistake_write(&p, &(struct http_refusal){status, words});
    frame.data = (const char *)p.data;
    frame.len = p.len;
    r = listener_mistake_read(&frame, ret_mistake);
    pack_done(&p);
    return r;
}

TEST(a_mistake_has_a_known_status_and_printable_words)
{
    struct listener_mistake mistake;

    assert_true(read_mistake(400, "the target is not a path", &mistake));
    assert_int_equal(mistake.status, 400);
    assert_string_equal(mistake.words, "the target is not a path");
    assert_false(read_mistake(200, "fine", &mistake));
    assert_false(read_mistake(0, "fine", &mistake));
    assert_false(read_mistake(400, "two\nlines", &mistake));
    assert_false(read_mistake(400, "\xc3\xa9", &mistake));
}

UNIT_MAIN()
