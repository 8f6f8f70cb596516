#include "unit.h"

#include "api/port_head.h"
#include "base/limits.h"
#include "base/span.h"

static struct request request_of(const char *path, const char *query)
{
    struct request r = {0};

    r.head.method = (struct span){"GET", 3};
    r.head.path = (struct span){path, strlen(path)};
    r.head.query = (struct span){query, strlen(query)};
    return r;
}

static void add(struct http_head *head, const char *name, const char *value)
{
    head->headers[head->n_headers++] =
        (struct http_header){{name, strlen(name)}, {value, strlen(value)}};
}

TEST(a_path_has_a_port_and_what_follows_it)
{
    struct request r = request_of("/v1/sessions/s/ports/8000/a//b", "");
    struct port_head head;

    assert_int_equal(port_head_read(&r, &head, NULL), 0);
    assert_int_equal(head.port, 8000);
    assert_true(span_is(head.path, "/a//b"));
    assert_true(span_is(head.prefix, "/v1/sessions/s/ports/8000"));
}

TEST(what_is_no_port_is_refused)
{
    static const char *const wrong[] = {"0",          "65536", "99999", "100000",
                                        "4294975296", "80a",   "",      "080"};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char path[64];
        struct request r;
        struct port_head head;
        struct error err = {0};

        (void)snprintf(path, sizeof(path), "/v1/sessions/s/ports/%s", wrong[i]);
        r = request_of(path, "");
        assert_int_equal(port_head_read(&r, &head, &err), -1);
        error_done(&err);
    }
}

TEST(the_server_gets_no_token_and_no_cookie)
{
    static const char expected[] =
        "GET /x?y=1 HTTP/1.1\r\nHost: 127.0.0.1:80\r\nConnection: close\r\n"
        "X-Forwarded-Prefix: /v1/sessions/s/ports/80\r\nAccept: */*\r\n\r\n";
    struct request r = request_of("/v1/sessions/s/ports/80/x", "y=1");
    struct buf out = BUF_OF(KIB);
    struct port_head head;

    add(&r.head, "Host", "server");
    add(&r.head, "AUTHORIZATION", "Bearer t");
    add(&r.head, "X-Api-Key", "t");
    add(&r.head, "Cookie", "c");
    add(&r.head, "Connection", "keep-alive, X-Mine");
    add(&r.head, "X-Mine", "1");
    add(&r.head, "Accept", "*/*");
    assert_int_equal(port_head_read(&r, &head, NULL), 0);
    assert_int_equal(port_head_write(&r, &head, &out, NULL), 0);
    assert_string_equal(buf_str(&out), expected);
    buf_done(&out);
}

TEST(an_upgrade_is_asked_for_with_what_it_needs)
{
    struct request r = request_of("/v1/sessions/s/ports/80/x", "");
    struct buf out = BUF_OF(KIB);
    struct port_head head;

    add(&r.head, "Connection", "Upgrade");
    add(&r.head, "Upgrade", "websocket");
    add(&r.head, "Sec-WebSocket-Key", "k");
    assert_true(port_head_upgrades(&r.head));
    assert_int_equal(port_head_read(&r, &head, NULL), 0);
    assert_int_equal(port_head_write(&r, &head, &out, NULL), 0);
    assert_non_null(strstr(buf_str(&out), "Connection: Upgrade\r\nUpgrade: websocket\r\n"));
    assert_non_null(strstr(buf_str(&out), "Sec-WebSocket-Key: k\r\n"));
    buf_done(&out);
    r.head.is_old = true;
    assert_false(port_head_upgrades(&r.head));
}

TEST(text_is_known_by_its_type)
{
    static const struct {
        const char *type;
        bool is_text;
    } rows[] = {
        {"text/html; charset=utf-8", true},
        {"application/json", true},
        {"image/svg+xml", true},
        {"image/png", false},
        {"application/zip", false},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct http_head answer = {0};

        add(&answer, "Content-Type", rows[i].type);
        assert_int_equal(port_head_is_text(&answer), rows[i].is_text);
        add(&answer, "Content-Encoding", "gzip");
        assert_false(port_head_is_text(&answer));
    }
    assert_true(port_head_is_text(&(struct http_head){0}));
}

UNIT_MAIN()
