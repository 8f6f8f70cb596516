#include "unit.h"

#include <stdio.h>

#include "http/request_rules.h"

#define HOST "Host: localhost\r\n"

static ssize_t check(const char *data, size_t len, struct http_head *head, struct http_refusal *why)
{
    size_t scanned = 0;

    return http_request_check(data, len, &scanned, head, why);
}

/* clang-format off */
static const struct {
    int status;
    const char *message; /* a part of it */
    const char *head;
} hostile[] = {
    /* lines */
    {400, "bare LF",             "GET / HTTP/1.1\n" HOST "\r\n"},
    {400, "bare LF",             "GET / HTTP/1.1\r\nHost: localhost\n\r\n"},
    {400, "bare LF",             "GET / HTTP/1.1\n\n"},
    {400, "CR inside a line",    "GET / HTTP/1.1\rHost: localhost\r\n\r\n"},
    {400, "CR inside a line",    "GET / HTTP/1.1\r\nX: a\rb\r\n\r\n"},
    {400, "empty line",          "\r\nGET / HTTP/1.1\r\n" HOST "\r\n"},
    {400, "control character",   "GET / HTTP/1.1\r\nX: \x01\r\n" HOST "\r\n"},
    {400, "control character",   "GET /\x7f HTTP/1.1\r\n" HOST "\r\n"},
    /* the first line */
    {400, "first line",          "GET /\r\n" HOST "\r\n"},
    {400, "first line",          "GET\r\n" HOST "\r\n"},
    {400, "percent-encoded",     "GET  / HTTP/1.1\r\n" HOST "\r\n"},
    {400, "percent-encoded",     "GET /a b HTTP/1.1\r\n" HOST "\r\n"},
    {400, "first line",          "GET / HTTP/1.1 \r\n" HOST "\r\n"},
    {400, "control character",   "GET /\x0bHTTP/1.1\r\n" HOST "\r\n"},
    {400, "upper-case word",    "get / HTTP/1.1\r\n" HOST "\r\n"},
    {400, "upper-case word",    "G@T / HTTP/1.1\r\n" HOST "\r\n"},
    {400, "upper-case word",    " / HTTP/1.1\r\n" HOST "\r\n"},
    {400, "upper-case word",    "ABCDEFGHIJKLMNOPQ / HTTP/1.1\r\n" HOST "\r\n"},
    {505, "not HTTP/1.1",        "GET / HTTP/1.2\r\n" HOST "\r\n"},
    {505, "not HTTP/1.1",        "GET / HTTP/2.0\r\n" HOST "\r\n"},
    {400, "first line",          "GET / HTTP/1.10\r\n" HOST "\r\n"},
    {400, "first line",          "GET / http/1.1\r\n" HOST "\r\n"},
    {400, "first line",          "GET / ICY\r\n" HOST "\r\n"},
    {400, "not a path",          "GET http://localhost/ HTTP/1.1\r\n" HOST "\r\n"},
    {400, "not a path",          "CONNECT localhost:80 HTTP/1.1\r\n" HOST "\r\n"},
    {400, "not a path",          "OPTIONS * HTTP/1.1\r\n" HOST "\r\n"},
    {400, "percent-encoded",     "GET /# HTTP/1.1\r\n" HOST "\r\n"},
    {400, "percent-encoded",     "GET /\xc3\xa9 HTTP/1.1\r\n" HOST "\r\n"},
    {400, "percent-encoding","GET /% HTTP/1.1\r\n" HOST "\r\n"},
    {400, "percent-encoding","GET /%4 HTTP/1.1\r\n" HOST "\r\n"},
    {400, "percent-encoding","GET /%zz HTTP/1.1\r\n" HOST "\r\n"},
    {400, "percent-encoding","GET /a%00b HTTP/1.1\r\n" HOST "\r\n"},
    /* headers */
    {400, "invalid character",       "GET / HTTP/1.1\r\nHost : localhost\r\n\r\n"},
    {400, "invalid character",       "GET / HTTP/1.1\r\n" HOST "Content-Length : 5\r\n\r\n"},
    {400, "has no name",         "GET / HTTP/1.1\r\n" HOST ": x\r\n\r\n"},
    {400, "has no name",         "GET / HTTP/1.1\r\n" HOST "nonsense\r\n\r\n"},
    {400, "folded",              "GET / HTTP/1.1\r\n" HOST "X: a\r\n b\r\n\r\n"},
    {400, "folded",              "GET / HTTP/1.1\r\n Host: localhost\r\n\r\n"},
    {400, "invalid character",       "GET / HTTP/1.1\r\n" HOST "X\xc3\xa9: a\r\n\r\n"},
    {400, "no Host",             "GET / HTTP/1.1\r\n\r\n"},
    {400, "no Host",             "GET / HTTP/1.0\r\n\r\n"},
    {400, "has no name",       "GET / HTTP/1.1\r\nHost:\r\n\r\n"},
    {400, "has no name",       "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"},
    {400, "has no name",       "GET / HTTP/1.1\r\nHost: a,b\r\n\r\n"},
    {400, "has no name",       "GET / HTTP/1.1\r\nHost: user@localhost\r\n\r\n"},
    {400, "given twice",         "GET / HTTP/1.1\r\n" HOST HOST "\r\n"},
    {400, "given twice",         "GET / HTTP/1.1\r\n" HOST "hOST: localhost\r\n\r\n"},
    {400, "given twice",         "GET / HTTP/1.1\r\n" HOST "Authorization: a\r\nauthorization: b\r\n\r\n"},
    {400, "given twice",         "GET / HTTP/1.1\r\n" HOST "Origin: a\r\nOrigin: b\r\n\r\n"},
    {400, "given twice",         "GET / HTTP/1.1\r\n" HOST "Mcp-Param-X: a\r\nmcp-param-x: a\r\n\r\n"},
    {417, "100-continue",        "POST / HTTP/1.1\r\n" HOST "Expect: tea\r\n\r\n"},
    /* framing */
    {400, "given twice",         "POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\nContent-Length: 5\r\n\r\n"},
    {400, "given twice",         "POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\nContent-Length: 6\r\n\r\n"},
    {400, "plain number",        "POST / HTTP/1.1\r\n" HOST "Content-Length: 5, 5\r\n\r\n"},
    {400, "plain number",        "POST / HTTP/1.1\r\n" HOST "Content-Length: +5\r\n\r\n"},
    {400, "plain number",        "POST / HTTP/1.1\r\n" HOST "Content-Length: -5\r\n\r\n"},
    {400, "plain number",        "POST / HTTP/1.1\r\n" HOST "Content-Length: 0x5\r\n\r\n"},
    {400, "plain number",        "POST / HTTP/1.1\r\n" HOST "Content-Length: 5 5\r\n\r\n"},
    {400, "plain number",        "POST / HTTP/1.1\r\n" HOST "Content-Length:\r\n\r\n"},
    {400, "plain number",        "POST / HTTP/1.1\r\n" HOST "Content-Length: 18446744073709551621\r\n\r\n"},
    {400, "unclear",             "POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"},
    {400, "unclear",             "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip\r\n\r\n"},
    {400, "unclear",             "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip, chunked\r\n\r\n"},
    {400, "unclear",             "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked, identity\r\n\r\n"},
    {400, "unclear",             "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: xchunked\r\n\r\n"},
    {400, "unclear",             "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: \"chunked\"\r\n\r\n"},
    {400, "unclear",             "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding:\r\n\r\n"},
    {400, "unclear",             "POST / HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"},
    {400, "given twice",         "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"},
    {400, "control character",   "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding:\x0b""chunked\r\n\r\n"},
};
/* clang-format on */

TEST(hostile_heads_are_refused_each_for_its_reason)
{
    for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
        struct http_refusal why = {0};
        struct http_head head;

        if (check(hostile[i].head, strlen(hostile[i].head), &head, &why) != -1)
            fail_msg("accepted: %s", hostile[i].head);
        if (why.status != hostile[i].status || !strstr(why.message, hostile[i].message))
            fail_msg("%d `%s` for: %s", why.status, why.message, hostile[i].head);
    }
}

TEST(a_nul_is_refused)
{
    static const char text[] = "GET / HTTP/1.1\r\nHost: local\0host\r\n\r\n";
    struct http_refusal why;
    struct http_head head;

    assert_int_equal(check(text, sizeof(text) - 1, &head, &why), -1);
    assert_int_equal(why.status, 400);
}

TEST(a_plain_request_is_taken_apart)
{
    static const char text[] = "POST /v1/run%20x?a=1&b HTTP/1.1\r\nhOsT: localhost:8222\r\n"
                               "Content-Type:application/json \t\r\nContent-Length: 12\r\n"
                               "Expect: 100-Continue\r\n\r\n{\"code\":";
    struct http_refusal why;
    struct http_head head;

    assert_int_equal(check(text, sizeof(text) - 1, &head, &why), strstr(text, "{") - text);
    assert_true(span_is(head.method, "POST"));
    assert_true(span_is(head.path, "/v1/run%20x"));
    assert_true(span_is(head.query, "a=1&b"));
    assert_true(span_is(http_head_get(&head, "host"), "localhost:8222"));
    assert_true(span_is(http_head_get(&head, "content-type"), "application/json"));
    assert_null(http_head_get(&head, "origin").data);
    assert_int_equal(head.framing, HTTP_LENGTH);
    assert_int_equal(head.length, 12);
    assert_true(head.expects_continue);
    assert_true(head.keeps_alive);
    assert_false(head.is_old);
}

static bool keeps_alive(const char *first, const char *headers)
{
    char text[512];
    struct http_refusal why;
    struct http_head head;

    (void)snprintf(text, sizeof(text), "%s\r\n" HOST "%s\r\n", first, headers);
    assert_true(check(text, strlen(text), &head, &why) > 0);
    return head.keeps_alive;
}

TEST(the_connection_header_is_a_list)
{
    assert_true(keeps_alive("GET / HTTP/1.1", ""));
    assert_true(keeps_alive("GET / HTTP/1.1", "Connection: closed\r\n"));
    assert_false(keeps_alive("GET / HTTP/1.1", "Connection: close\r\n"));
    assert_false(keeps_alive("GET / HTTP/1.1", "Connection: Upgrade, Close\r\n"));
    assert_false(keeps_alive("GET / HTTP/1.1", "Connection: x\r\nConnection: close\r\n"));
    assert_false(keeps_alive("GET / HTTP/1.0", ""));
    assert_true(keeps_alive("GET / HTTP/1.0", "Connection: keep-alive\r\n"));
}

/* Byte by byte it ends where it ends in one piece, and never before. */
TEST(a_head_may_come_in_pieces)
{
    static const char text[] = "GET / HTTP/1.1\r\n" HOST "X: y\r\n\r\nrest";
    size_t whole = sizeof(text) - 1 - 4, scanned = 0;
    struct http_refusal why;
    struct http_head head;

    for (size_t n = 0; n < whole; n++)
        assert_int_equal(http_request_check(text, n, &scanned, &head, &why), 0);
    assert_int_equal(http_request_check(text, whole, &scanned, &head, &why), whole);
}

TEST(heads_have_a_ceiling)
{
    static char text[HTTP_HEAD_BYTES + 100];
    size_t n = (size_t)snprintf(text, sizeof(text), "GET / HTTP/1.1\r\n" HOST "X: ");
    struct http_refusal why = {0};
    struct http_head head;

    memset(text + n, 'a', sizeof(text) - n);
    assert_int_equal(check(text, HTTP_HEAD_BYTES - 1, &head, &why), 0);
    assert_int_equal(check(text, sizeof(text), &head, &why), -1);
    assert_int_equal(why.status, 431);
}

TEST(headers_are_counted)
{
    char text[4096] = "GET / HTTP/1.1\r\n" HOST;
    struct http_refusal why = {0};
    struct http_head head;
    size_t n = strlen(text);

    for (int i = 0; i < HTTP_HEADERS_MAX; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "X%d: y\r\n", i);
    n += (size_t)snprintf(text + n, sizeof(text) - n, "\r\n");
    assert_int_equal(check(text, n, &head, &why), -1);
    assert_int_equal(why.status, 431);
}

UNIT_MAIN()
