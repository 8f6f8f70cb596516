#include "unit.h"

#include "base/cleanup.h"
#include "base/http1.h"

static int add(void *user, const char *data, size_t len, struct error *err)
{
    return buf_add(user, data, len, err);
}

/* Reads the text in pieces of `step` bytes and then its end. The content is in `out`. */
static int read_response(const char *text, size_t len, size_t step, struct http_response *response,
                         struct buf *out, struct error *err)
{
    for (size_t at = 0; at < len; at += step)
        if (http_response_feed(response, text + at, len - at < step ? len - at : step, add, out,
                               err) < 0)
            return -1;
    return http_response_end(response, err);
}

/* However it is cut. NULL for `content`: it is refused with `words`. */
static void assert_response(const char *text, int status, const char *content, const char *words)
{
    for (size_t step = 1; step <= strlen(text); step++) {
        cleanup(http_response_done) struct http_response response;
        cleanup(buf_done) struct buf out;
        struct error err = {0};
        int r;

        http_response_init(&response);
        buf_init(&out, 4096);
        r = read_response(text, strlen(text), step, &response, &out, &err);
        if ((r == 0) != (content != NULL))
            fail_msg("%s: %s", r == 0 ? "taken" : err.message, text);
        if (content) {
            assert_int_equal(response.head.status, status);
            assert_string_equal(buf_str(&out), content);
        } else {
            assert_error(&err, E_PROTOCOL, words);
        }
    }
}

TEST(bodies_end_where_the_head_says)
{
    assert_response("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", 200, "hi", NULL);
    assert_response("HTTP/1.1 200 OK\r\ncontent-LENGTH:2\r\n\r\nhithere", 200, "hi", NULL);
    assert_response("HTTP/1.1 200 OK\r\ntransfer-encoding: CHUNKED\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
                    200, "hi", NULL);
    assert_response("HTTP/1.0 200\r\n\r\nuntil the end", 200, "until the end", NULL);
    assert_response("HTTP/1.1 204 No\r\n\r\n", 204, "", NULL);
    assert_response("HTTP/1.1 304 No\r\nContent-Length: 7\r\n\r\n", 304, "", NULL);
    assert_response("HTTP/1.1 503 x\r\nContent-Length: 0\r\n\r\n", 503, "", NULL);
    assert_response("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 x\r\nA: b\r\n\r\n"
                    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
                    200, "x", NULL);
}

TEST(responses_that_are_cut_are_no_responses)
{
    assert_response("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi", 0, NULL, "early");
    assert_response("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n", 0,
                    NULL, "early");
    assert_response("HTTP/1.1 200 OK\r\nA: b\r\n", 0, NULL, "early");
    assert_response("HTTP/1.1 100 Continue\r\n\r\n", 0, NULL, "early");
}

#define OK "HTTP/1.1 200 OK\r\n"

TEST(what_two_readers_would_read_differently_is_refused)
{
    static const char *const wrong[][2] = {
        {"HTTP/2 200\r\n\r\n", "status line"},
        {"HTTP/1.2 200 OK\r\n\r\n", "status line"},
        {"HTTP/1.1 20 OK\r\n\r\n", "status line"},
        {"HTTP/1.1 2000\r\n\r\n", "status line"},
        {"HTTP/1.1 099 OK\r\n\r\n", "status line"},
        {"HTTP/1.1  200 OK\r\n\r\n", "status line"},
        {"http/1.1 200 OK\r\n\r\n", "status line"},
        {"HTTP/1.1 101 Switch\r\n\r\n", "another protocol"},
        {"\r\n" OK "\r\n", "empty line"},
        {"HTTP/1.1 200 OK\nA: b\r\n\r\n", "bare LF"},
        {OK "A: b\n\r\n", "bare LF"},
        {OK "A: b\rc\r\n\r\n", "CR inside"},
        {OK "A: b\x01\r\n\r\n", "control character"},
        {OK "A: b\r\n c\r\n\r\n", "folded"},
        {OK "A : b\r\n\r\n", "invalid character"},
        {OK "nothing\r\n\r\n", "no name"},
        {OK "Content-Length: 2\r\nContent-Length: 2\r\n\r\nhi", "twice"},
        {OK "Content-Length: 2\r\ncontent-length: 3\r\n\r\nhi", "twice"},
        {OK "Content-Length: +2\r\n\r\nhi", "plain number"},
        {OK "Content-Length: 2, 2\r\n\r\nhi", "plain number"},
        {OK "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n", "unclear"},
        {OK "Transfer-Encoding: gzip, chunked\r\n\r\n", "unclear"},
        {OK "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", "twice"},
        {"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "unclear"},
        {OK "Transfer-Encoding: chunked\r\n\r\n2;x=y\r\nhi\r\n0\r\n\r\n", "bad chunk"},
        {OK "Transfer-Encoding: chunked\r\n\r\n2\nhi\r\n0\r\n\r\n", "bad chunk"},
        {OK "Transfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n\r\n", "bad chunk"},
        {OK "Transfer-Encoding: chunked\r\n\r\nzz\r\n", "bad chunk"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        assert_response(wrong[i][0], 0, NULL, wrong[i][1]);
}

TEST(heads_of_responses_have_a_ceiling)
{
    static char text[80000];
    cleanup(http_response_done) struct http_response response;
    cleanup(buf_done) struct buf out;
    struct error err = {0};

    memset(text, 'a', sizeof(text));
    memcpy(text, OK "A: ", strlen(OK "A: "));
    http_response_init(&response);
    buf_init(&out, 4096);
    assert_int_equal(read_response(text, sizeof(text), 1000, &response, &out, &err), -1);
    assert_error(&err, E_PROTOCOL, "longer than 64 KB");
}

TEST(headers_are_found_without_case)
{
    static const char text[] =
        "GET / HTTP/1.1\r\nCONNECTION: a,\tb\r\nconnection: Close \r\nX:\r\n\r\n";
    static const struct http_limits limits = {1024, 3, "long", "many"},
                                    fewer = {1024, 2, "long", "many"};
    struct http_refusal why = {0};
    struct http_head head;
    size_t scanned = 0;

    assert_int_equal(http_read_request(text, strlen(text), &limits, &scanned, &head, &why),
                     strlen(text));
    assert_true(span_is(http_head_get(&head, "Connection"), "a,\tb"));
    assert_int_equal(http_head_count(&head, "connection"), 2);
    assert_true(http_head_lists(&head, "connection", (struct span){"CLOSE", 5}));
    assert_true(http_head_lists(&head, "connection", (struct span){"b", 1}));
    assert_false(http_head_lists(&head, "connection", (struct span){"clos", 4}));
    assert_true(http_head_get(&head, "x").data && http_head_get(&head, "x").len == 0);
    assert_null(http_head_get(&head, "y").data);
    scanned = 0;
    assert_int_equal(http_read_request(text, strlen(text), &fewer, &scanned, &head, &why), -1);
    assert_int_equal(why.status, 431);
}

/* --- bodies --- */

/* Feeds the text in pieces of `step` bytes. Returns the last answer; the content is in `out`. */
static int feed(enum http_framing framing, uint64_t length, const char *text, size_t step,
                char *out, size_t *ret_used)
{
    const struct http_head head = {.framing = framing, .length = length};
    size_t at = 0, len = strlen(text), n = 0;
    struct http_body body;
    int r = 0;

    http_body_init(&body, &head);
    while (r == 0 && at < len) {
        size_t used, size = len - at < step ? len - at : step;
        struct span piece;

        r = http_body_next(&body, text + at, size, &piece, &used);
        if (r < 0)
            break;
        assert_true(used <= size && piece.len <= used);
        memcpy(out + n, piece.data, piece.len);
        n += piece.len;
        at += used;
    }
    out[n] = '\0';
    *ret_used = at;
    return r;
}

TEST(a_body_ends_where_its_length_says)
{
    char out[64];
    size_t used;

    for (size_t step = 1; step < 10; step++) {
        assert_int_equal(feed(HTTP_LENGTH, 5, "helloGET /", step, out, &used), 1);
        assert_string_equal(out, "hello");
        assert_int_equal(used, 5);
    }
    assert_int_equal(feed(HTTP_LENGTH, 50, "hello", 5, out, &used), 0);
}

TEST(chunks_are_joined)
{
    static const char text[] = "5\r\nhello\r\n0000006\r\n world\r\nA\r\n0123456789\r\n0\r\n\r\nGET";
    char out[64];
    size_t used;

    for (size_t step = 1; step < sizeof(text); step++) {
        assert_int_equal(feed(HTTP_CHUNKED, 0, text, step, out, &used), 1);
        assert_string_equal(out, "hello world0123456789");
        assert_int_equal(used, sizeof(text) - 1 - 3);
    }
}

TEST(broken_chunks_are_refused)
{
    static const char *const broken[] = {
        "\r\n",
        "x\r\n",
        "5;a=b\r\nhello\r\n",
        "5 \r\nhello\r\n",
        " 5\r\nhello",
        "+5\r\nhello",
        "0x5\r\nhello",
        "5\nhello\r\n",
        "5\r\nhello\n",
        "5\r\nhelloworld",
        "5\r\rhello",
        "000000005\r\nhi",
        "FFFFFFFFF\r\n",
        "0\r\nX: y\r\n",
        "0\r\n\n",
        "5\r\nhello0\r",
        "-1\r\n",
    };
    char out[64];
    size_t used;

    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
        for (size_t step = 1; step < 12; step += 5)
            if (feed(HTTP_CHUNKED, 0, broken[i], step, out, &used) != -1)
                fail_msg("accepted: %s", broken[i]);
}

UNIT_MAIN()
