#include "unit.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/span.h"
#include "http/multipart.h"

#define HEAD "Content-Disposition: form-data; name=\"a\"\r\n"

static struct span text(const char *s)
{
    return (struct span){s, strlen(s)};
}

static int parse(const char *body, struct multipart *parts, struct error *err)
{
    return multipart_parse(text(body), text("b"), parts, err);
}

TEST(parts_are_names_and_bytes)
{
    struct multipart *parts = calloc(1, sizeof(*parts));

    assert_int_equal(
        parse("--b\r\nContent-Disposition: form-data; name=\"code\"\r\n\r\nprint(1)\r\n"
              "--b\r\ncontent-type: text/csv\r\nX-Other: y\r\n"
              "content-disposition:form-data;name=\"files\";filename=\"d/x.csv\"\r\n\r\n"
              "\r\n--c\r\n\r\n--b\r\n" HEAD "\r\n\r\n--b--\r\n",
              parts, NULL),
        0);
    assert_int_equal(parts->count, 3);
    assert_true(span_is(parts->parts[0].name, "code"));
    assert_null(parts->parts[0].filename.data);
    assert_true(span_is(parts->parts[0].content, "print(1)"));
    assert_true(span_is(parts->parts[1].filename, "d/x.csv"));
    assert_true(span_is(parts->parts[1].type, "text/csv"));
    assert_true(span_is(parts->parts[1].content, "\r\n--c\r\n"));
    assert_int_equal(parts->parts[2].content.len, 0);
    free(parts);
}

TEST(a_form_may_be_empty)
{
    struct multipart *parts = calloc(1, sizeof(*parts));

    assert_int_equal(parse("--b--", parts, NULL), 0);
    assert_int_equal(parts->count, 0);
    assert_int_equal(parse("--b--\r\n", parts, NULL), 0);
    free(parts);
}

TEST(what_can_be_read_in_two_ways_is_refused)
{
    static const char *const bodies[] = {
        "",
        "--",
        "--b",
        "--c--",
        "preamble\r\n--b--",
        "\r\n--b--",
        "--b--epilogue",
        "--b--\r\nepilogue",
        "--b-",
        "--b \r\n" HEAD "\r\nx\r\n--b--",
        "--b\n" HEAD "\r\nx\r\n--b--",
        "--b\r\n" HEAD "\r\nx",
        "--b\r\n" HEAD "\r\nx\r\n--b",
        "--b\r\n" HEAD "\r\nx\n--b--",
        "--b\r\n" HEAD "\r\nx\r\n--bx",
        "--b\r\n" HEAD "x\r\n--b--",
        "--b\r\n\r\nx\r\n--b--",
        "--b\r\nContent-Type: text/plain\r\n\r\nx\r\n--b--",
        "--b\r\n" HEAD HEAD "\r\nx\r\n--b--",
        "--b\r\n" HEAD "Content-Type: a/b\r\nContent-Type: a/b\r\n\r\nx\r\n--b--",
        "--b\r\n" HEAD "Content-Transfer-Encoding: base64\r\n\r\nx\r\n--b--",
        "--b\r\n" HEAD "X Y: z\r\n\r\nx\r\n--b--",
        "--b\r\n" HEAD " folded\r\n\r\nx\r\n--b--",
        "--b\r\n" HEAD "X: \x01\r\n\r\nx\r\n--b--",
        "--b\r\n" HEAD "X: \xff\r\n\r\nx\r\n--b--",
        "--b\r\nContent-Disposition : form-data; name=\"a\"\r\n\r\nx\r\n--b--",
        "--b\r\nContent-Disposition: attachment; name=\"a\"\r\n\r\nx\r\n--b--",
        "--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n--b--",
        "--b\r\nContent-Disposition: form-data; name=\"\"\r\n\r\nx\r\n--b--",
        "--b\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n--b--",
        "--b\r\nContent-Disposition: form-data; name=\"a\r\n\r\nx\r\n--b--",
        "--b\r\nContent-Disposition: form-data; name=\"a\" b\r\n\r\nx\r\n--b--",
        "--b\r\nContent-Disposition: form-data; name=\"a\"; name=\"b\"\r\n\r\nx\r\n--b--",
        "--b\r\nContent-Disposition: form-data; name=\"a\\\"b\"\r\n\r\nx\r\n--b--",
        "--b\r\nContent-Disposition: form-data; name=\"a\"; filename*=utf-8''x\r\n\r\nx\r\n--b--",
        ("--b\r\nContent-Disposition: form-data; name=\"a\"; filename=\"x\"; filename=\"y\"\r\n\r\n"
         "x\r\n--b--"),
        "--b\r\nContent-Disposition: form-data; name=\"a\"; size=3\r\n\r\nx\r\n--b--",
        "--b\r\nContent-Disposition: form-data; name=\"a\tb\"\r\n\r\nx\r\n--b--",
    };
    struct multipart *parts = calloc(1, sizeof(*parts));

    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
        struct error err = {0};

        if (parse(bodies[i], parts, &err) == 0)
            fail_msg("was taken: %s", bodies[i]);
        assert_error(&err, E_INVALID, "");
    }
    free(parts);
}

TEST(there_is_an_end_to_parts_and_lines)
{
    cleanup(buf_done) struct buf body = {0};
    struct multipart *parts = calloc(1, sizeof(*parts));
    struct error err = {0};

    buf_init(&body, 100000);
    for (size_t i = 0; i < MULTIPART_PARTS_MAX; i++)
        assert_int_equal(buf_add_str(&body, "--b\r\n" HEAD "\r\nx\r\n", NULL), 0);
    assert_int_equal(buf_add_str(&body, "--b--", NULL), 0);
    assert_int_equal(parse(buf_str(&body), parts, NULL), 0);
    assert_int_equal(parts->count, MULTIPART_PARTS_MAX);

    body.len -= 2;
    assert_int_equal(buf_add_str(&body, "\r\n" HEAD "\r\nx\r\n--b--", NULL), 0);
    assert_int_equal(parse(buf_str(&body), parts, &err), -1);
    assert_error(&err, E_INVALID, "too many parts");

    buf_clear(&body);
    assert_int_equal(buf_add_str(&body, "--b\r\n" HEAD, NULL), 0);
    for (size_t i = 0; i < 20; i++)
        assert_int_equal(buf_add_str(&body, "X: y\r\n", NULL), 0);
    assert_int_equal(buf_add_str(&body, "\r\nx\r\n--b--", NULL), 0);
    assert_int_equal(parse(buf_str(&body), parts, &err), -1);
    assert_error(&err, E_INVALID, "too many lines");
    free(parts);
}

TEST(the_boundary_is_where_it_is_said)
{
    static const char *const good[] = {
        "multipart/form-data; boundary=abc",
        "Multipart/Form-Data;boundary=\"abc\"",
        "multipart/form-data ; charset=utf-8; BOUNDARY=abc",
    };
    static const char *const wrong[] = {
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "multipart/form-data; boundary=\"\"",
        "multipart/form-data; boundary=\"a b\"",
        "multipart/form-data; boundary=a; boundary=b",
        "multipart/form-data; boundary=\"abc",
        "multipart/form-data; boundary=abc x",
        "multipart/form-data boundary=abc",
        ("multipart/form-data; boundary="
         "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
    };
    struct span boundary;

    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        assert_true(multipart_is_type(text(good[i])));
        assert_int_equal(multipart_boundary(text(good[i]), &boundary, NULL), 0);
        assert_true(span_is(boundary, "abc"));
    }
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        struct error err = {0};

        assert_true(multipart_is_type(text(wrong[i])));
        assert_int_equal(multipart_boundary(text(wrong[i]), &boundary, &err), -1);
        assert_error(&err, E_INVALID, "");
    }
    assert_false(multipart_is_type(text("multipart/form-datax; boundary=a")));
    assert_false(multipart_is_type(text("multipart/mixed; boundary=a")));
    assert_false(multipart_is_type((struct span){NULL, 0}));
}

UNIT_MAIN()
