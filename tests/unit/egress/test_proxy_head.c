#include "unit.h"

#include <string.h>

#include "base/cleanup.h"
#include "egress/proxy_head.h"

static long read_text(const char *text, struct proxy_head *head, const char **why)
{
    size_t scanned = 0;

    *why = NULL;
    return proxy_head_read(text, strlen(text), &scanned, head, why);
}

static void assert_written(const char *text, const char *header, const char *expected)
{
    cleanup(buf_done) struct buf out = {0};
    struct proxy_head head;
    const char *why;

    buf_init(&out, 65536);
    assert_int_equal(read_text(text, &head, &why), strlen(text));
    assert_int_equal(proxy_head_write(&head, header, &out, NULL), 0);
    assert_string_equal(buf_str(&out), expected);
}

TEST(a_request_goes_on_without_what_was_for_the_proxy)
{
    assert_written("GET http://A.org:80/x?y=/.. HTTP/1.1\r\nHost: a.org\r\nProxy-Connection: x\r\n"
                   "Proxy-Authorization: Basic eA==\r\nConnection: keep-alive, X-Hop\r\n"
                   "X-Hop: 1\r\nTE: trailers\r\nUpgrade: h2c\r\nAccept: */*\r\n\r\n",
                   NULL,
                   "GET /x?y=/.. HTTP/1.1\r\nHost: a.org\r\nAccept: */*\r\n"
                   "Connection: close\r\n\r\n");
    assert_written("POST http://a.org?q HTTP/1.0\r\nContent-Length: 5\r\n\r\n", NULL,
                   "POST /?q HTTP/1.0\r\nHost: a.org\r\nContent-Length: 5\r\n"
                   "Connection: close\r\n\r\n");
    assert_written("PUT HTTP://[::1]:8000 HTTP/1.1\r\nHost: [0:0::1]:8000\r\n"
                   "Transfer-Encoding: Chunked\r\n\r\n",
                   NULL,
                   "PUT / HTTP/1.1\r\nHost: [::1]:8000\r\nTransfer-Encoding: chunked\r\n"
                   "Connection: close\r\n\r\n");
}

TEST(a_header_takes_the_place_of_the_programs_own)
{
    assert_written(
        "GET http://a.org/ HTTP/1.1\r\nHost: a.org\r\nauthorization: mine\r\nX: y\r\n\r\n",
        "Authorization: Bearer key",
        "GET / HTTP/1.1\r\nHost: a.org\r\nX: y\r\nAuthorization: Bearer key\r\n"
        "Connection: close\r\n\r\n");
}

TEST(a_header_is_replaced_in_every_spelling)
{
    assert_written("GET http://a.org/ HTTP/1.1\r\nHost: a.org\r\nX_API_KEY: mine\r\nx-Api_key: "
                   "mine\r\nX-Api-Keys: 1\r\n\r\n",
                   "X-Api-Key: key",
                   "GET / HTTP/1.1\r\nHost: a.org\r\nX-Api-Keys: 1\r\nX-Api-Key: key\r\n"
                   "Connection: close\r\n\r\n");
}

TEST(a_part_of_a_server_is_asked_for_nothing_else)
{
    static const char text[] =
        "GET http://a.org/x HTTP/1.1\r\nHost: a.org\r\nX-HTTP-Method-Override: DELETE\r\n"
        "x_original_url: /admin\r\nX-Rewrite-URL: /admin\r\nX-Other: 1\r\n\r\n";

    for (int is_part = 0; is_part < 2; is_part++) {
        cleanup(buf_done) struct buf out = {0};
        struct proxy_head head;
        const char *why;

        buf_init(&out, 65536);
        assert_true(read_text(text, &head, &why) > 0);
        head.is_part = is_part;
        assert_int_equal(proxy_head_write(&head, NULL, &out, NULL), 0);
        assert_non_null(strstr(buf_str(&out), "X-Other: 1\r\n"));
        assert_int_equal(strstr(buf_str(&out), "DELETE") == NULL, is_part);
        assert_int_equal(strstr(buf_str(&out), "/admin") == NULL, is_part);
    }
}

TEST(connect_names_a_host_and_a_port)
{
    struct proxy_head head;
    const char *why;

    assert_true(read_text("CONNECT a.org:443 HTTP/1.0\r\n\r\n", &head, &why) > 0);
    assert_true(head.is_connect);
    assert_int_equal(head.port, 443);
    assert_string_equal(head.host.name, "a.org");
    assert_int_equal(read_text("CONNECT a.org HTTP/1.1\r\n\r\n", &head, &why), -1);
    assert_int_equal(
        read_text("CONNECT a.org:1 HTTP/1.1\r\nContent-Length: 1\r\n\r\n", &head, &why), -1);
}

#define URL "GET http://a.org/ HTTP/1.1\r\nHost: a.org\r\n"

TEST(what_is_doubtful_is_refused)
{
    static const char *const wrong[] = {
        "GET / HTTP/1.1\r\nHost: a.org\r\n\r\n",
        "GET http://a.org/ HTTP/1.1\r\n\r\n",
        "GET http://a.org/ HTTP/1.1\r\nHost: b.org\r\n\r\n",
        "GET http://a.org:81/ HTTP/1.1\r\nHost: a.org\r\n\r\n",
        "GET http://a.org/ HTTP/1.1\nHost: a.org\r\n\r\n",
        "GET http://a.org/ HTTP/1.2\r\nHost: a.org\r\n\r\n",
        "GET http://u:p@a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n",
        "GET http://a.org/#x HTTP/1.1\r\nHost: a.org\r\n\r\n",
        "GET\thttp://a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n",
        "GET http:///x HTTP/1.1\r\nHost: \r\n\r\n",
        "TRACE http://a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n",
        "trace http://a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n",
        URL "Host: a.org\r\n\r\n",
        URL "X: a\r\n b\r\n\r\n",
        URL "X : a\r\n\r\n",
        URL "X: a\rb\r\n\r\n",
        URL "X: a\x01\r\n\r\n",
        URL "Content-Length: 1\r\nContent-Length: 1\r\n\r\n",
        URL "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        URL "Content-Length: -1\r\n\r\n",
        URL "Content-Length: 0x1\r\n\r\n",
        URL "Content-Length: 1 1\r\n\r\n",
        URL "Content-Length: 9999999999999999999\r\n\r\n",
        URL "Transfer-Encoding: identity\r\n\r\n",
        URL "Transfer-Encoding: chunked, chunked\r\n\r\n",
        "POST http://a.org/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
    };
    struct proxy_head head;
    const char *why;

    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        if (read_text(wrong[i], &head, &why) != -1)
            fail_msg("taken: %s", wrong[i]);
        assert_non_null(why);
    }
}

TEST(a_head_that_is_not_whole_is_waited_for_until_it_is_too_long)
{
    static char text[PROXY_HEAD_BYTES];
    size_t scanned = 0;
    struct proxy_head head;
    const char *why;

    memset(text, 'a', sizeof(text));
    memcpy(text, URL, strlen(URL));
    assert_int_equal(proxy_head_read(text, sizeof(text) - 1, &scanned, &head, &why), 0);
    assert_int_equal(proxy_head_read(text, sizeof(text), &scanned, &head, &why), -1);
}

static long answer(const char *text, struct buf *out, bool *is_interim)
{
    size_t scanned = 0;

    buf_clear(out);
    return proxy_answer_head(text, strlen(text), &scanned, out, is_interim, NULL);
}

TEST(answers_end_their_connection)
{
    static const char text[] = "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nKeep-Alive: 5\r\n"
                               "Content-Length: 2\r\n\r\nhi";
    cleanup(buf_done) struct buf out = {0};
    bool is_interim = true;

    buf_init(&out, 65536);
    assert_int_equal(answer(text, &out, &is_interim), strlen(text) - 2);
    assert_string_equal(buf_str(&out),
                        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n");
    assert_false(is_interim);
    assert_int_equal(answer("HTTP/1.1 100 Continue\r\n\r\n", &out, &is_interim), 25);
    assert_true(is_interim);
}

/* The gate does not pass answers that a program and a server could read in two ways. */
TEST(doubtful_answers_are_refused)
{
    static const char *const wrong[] = {
        "HTTP/1.1 101 x\r\n\r\n",
        "SSH-2.0-x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nContent-Length: 3\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n",
        "HTTP/1.1 200 OK\nX: a\r\n\r\n",
    };
    cleanup(buf_done) struct buf out = {0};
    bool is_interim;

    buf_init(&out, 65536);
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        if (answer(wrong[i], &out, &is_interim) != -1)
            fail_msg("passed: %s", wrong[i]);
}

UNIT_MAIN()
