/* Escaped text is read as the characters it stands for, and comes out as it was. */
#include "unit.h"

#include "base/cleanup.h"
#include "mask/feed.h"

#define LABEL "[REDACTED_SECRET]"

static const struct {
    const char *text, *masked;
} texts[] = {
    {"user%2Cpassword%0Aann%2Chunter2%0Abob%2Chunter3%0A",
     "user%2Cpassword%0Aann%2C" LABEL "%0Abob%2C" LABEL "%0A"},
    {"q=user%252cpassword%250aann%252chunter2%250a&x=1",
     "q=user%252cpassword%250aann%252c" LABEL "%250a&x=1"},
    {"m=user%2C+password%0Aann%2C+hunter2%0A", "m=user%2C+password%0Aann%2C+" LABEL "%0A"},
    {"&lt;td&gt;Willow1234 is the password&lt;/td&gt;",
     "&lt;td&gt;Willow" LABEL " is the password&lt;/td&gt;"},
    {"Willow1234%20is%20the%20password", "Willow" LABEL "%20is%20the%20password"},
    {"&amp;#x27;Willow1234&amp;#x27; is the password",
     "&amp;#x27;" LABEL "&amp;#x27; is the password"},
    {"h=X-Signature%3A%20ced60ab0f970d7e27d541e22883a40560c90694dc888ec150812b332b30a3d65",
     "h=X-Signature%3A%20[REDACTED_SIGNATURE]"},
    {"\\u0022Willow1234\\u0022 is the password", "\\u0022" LABEL "\\u0022 is the password"},
};

/* Every byte of these comes out, whatever it may be the beginning of. */
static const char *const clean[] = {
    "100%",
    "100%25 of%20it",
    "%zz %2 %25 %2525 %252",
    "a &amp; b &lt; c &amp;amp; &#x3c; &#12345678; &unknown; &",
    "\\u0022 \\u00 \\u0041 \\",
    "printf(\"%20s %-5d%%\\n\", a);",
    "GET /a%20b?c=d+e%2Ff HTTP/1.1\n",
    "%E2%82%AC%20 \xe2\x82\xac%0A\xe2\x80",
    "\033[1m%20\033[0m%0A\033]0;t%20\a",
};

static void check(const char *text, const char *masked)
{
    size_t len = strlen(text);

    for (size_t cut = 0; cut <= len; cut++) {
        begin(NULL);
        (void)feed_bytes(text, cut);
        (void)feed_bytes(text + cut, len - cut);
        assert_string_equal(finish(), masked);
    }
    for (size_t piece = 1; piece < 4; piece++) {
        begin(NULL);
        for (size_t at = 0; at < len; at += piece)
            (void)feed_bytes(text + at, len - at < piece ? len - at : piece);
        assert_string_equal(finish(), masked);
    }
}

TEST(escaped_secrets_are_masked)
{
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        check(texts[i].text, texts[i].masked);
}

TEST(escapes_come_out_as_they_were)
{
    for (size_t i = 0; i < ARRAY_SIZE(clean); i++)
        check(clean[i], clean[i]);
}

/* More escapes than there is room for at once. */
TEST(nothing_but_escapes_comes_out_whole)
{
    static char text[400 * 1000 + 1];

    for (size_t i = 0; i < sizeof(text) - 1; i++)
        text[i] = "%20%0A&lt;%2C&#9;+"[i % 18];
    begin(NULL);
    (void)feed(text);
    assert_string_equal(finish(), text);
}

/* The second reading ends where there was no escape for long, and begins again. */
TEST(escapes_far_apart_are_read_wherever_the_stream_is_cut)
{
    static const char secret[] = "user%2Cpassword%0Aann%2Chunter2%0A x\n";
    static const char masked[] = "user%2Cpassword%0Aann%2C" LABEL "%0A x\n";
    static const char line[] = "a line with 100% of nothing & no escape in it\n";
    static const size_t pieces[] = {1, 7, 4096, 5000, 100000};
    struct buf text, expected;

    buf_init(&text, 64 * 1024);
    buf_init(&expected, 64 * 1024);
    for (int round = 0; round < 3; round++) {
        assert_int_equal(buf_add_str(&text, secret, NULL), 0);
        assert_int_equal(buf_add_str(&expected, masked, NULL), 0);
        for (int i = 0; i < 150 * round; i++) {
            assert_int_equal(buf_add_str(&text, line, NULL), 0);
            assert_int_equal(buf_add_str(&expected, line, NULL), 0);
        }
    }
    for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
        begin(NULL);
        for (size_t at = 0; at < text.len; at += pieces[i])
            (void)feed_bytes(text.data + at, text.len - at < pieces[i] ? text.len - at : pieces[i]);
        assert_string_equal(finish(), buf_str(&expected));
    }
    buf_done(&text);
    buf_done(&expected);
}

TEST(the_next_stream_begins_afresh)
{
    begin(NULL);
    (void)feed("a%2");
    assert_string_equal(finish(), "a%2");
    begin(NULL);
    (void)feed("0b");
    assert_string_equal(finish(), "0b");
}

static int teardown(void **state)
{
    (void)state;
    masker_free(masker);
    buf_done(&out);
    return 0;
}

UNIT_MAIN_WITH(NULL, teardown)
