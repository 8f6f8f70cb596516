/* Terminal sequences that hold text: they hide no token they stand in, and nothing that stands in
 * them. The secrets are put together here, so that no file holds one. */
#include <stdio.h>

#include "unit.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "mask/feed.h"

static const char label[] = "[REDACTED_GITHUB_TOKEN]";

static const char *const sequences[] = {
    "\033]0;a title\a",          /* OSC, as xterm has it */
    "\033]8;;http://a.b/\033\\", /* and as the standard has */
    "\033]133;A\xc2\x9c",
    "\033P1$qm\033\\",
    "\033Xany\a of it\033\\",
    "\033^private\033\\",
    "\033_G a=T;AAAA\033\\",
    "\033ktitle\033\\",
    "\xc2\x9d"
    "0;short\xc2\x9c",
    "\xc2\x90"
    "q\a\033\\",
    "\033]0;cancelled\030",
    "\033]0;of two\nlines\a",
    "\033]0;cut\033[1m",
    "\033]0;a\a\033]0;b\a",
    "\033=",
    "\0337",
    "\033#8",
    "\033%G",
    "\033($B",
    "\033(B",
};

static const char *token(void)
{
    static char text[64];

    (void)snprintf(text, sizeof(text), "ghp%c%s%s", '_', "8vOC7YM4bOnLHZ3APWI1",
                   "z1pMALuxQH0IQSnE");
    return text;
}

/* Whole, cut in two everywhere, and byte by byte. */
static void check(const char *text, const char *expected)
{
    size_t len = strlen(text);

    for (size_t cut = 0; cut < len; cut++) {
        buf_clear(&out);
        (void)feed_bytes(text, cut);
        (void)feed_bytes(text + cut, len - cut);
        assert_string_equal(finish(), expected);
    }
    buf_clear(&out);
    for (size_t at = 0; at < len; at++)
        (void)feed_bytes(text + at, 1);
    assert_string_equal(finish(), expected);
}

TEST(a_sequence_inside_does_not_help)
{
    char text[256], expected[64];

    begin(NULL);
    (void)snprintf(expected, sizeof(expected), "see %s here\n", label);
    for (size_t i = 0; i < ARRAY_SIZE(sequences); i++)
        for (int at = 1; token()[at]; at++) {
            (void)snprintf(text, sizeof(text), "see %.*s%s%s here\n", at, token(), sequences[i],
                           token() + at);
            check(text, expected);
        }
}

TEST(many_of_them_do_not_help_either)
{
    char text[4096];
    size_t len = 0;

    begin(NULL);
    for (size_t i = 0; token()[i]; i++)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%c%s", token()[i],
                                sequences[i % ARRAY_SIZE(sequences)]);
    buf_clear(&out);
    (void)feed_bytes(text, len);
    assert_true(strncmp(finish(), label, sizeof(label) - 1) == 0);
}

TEST(a_value_behind_its_name_is_found)
{
    begin(NULL);
    check("\033]0;x\apassword = '\033]8;;u\afal\033]8;;\acon_07aj86cC!'\n",
          "\033]0;x\apassword = '\033]8;;u\a[REDACTED_SECRET]'\n");
    check("\033]0;\apassword = \033]falcon_07aj86cC!\033\\\n",
          "\033]0;\apassword = \033[REDACTED_SECRET]\n");
}

TEST(a_private_key_is_one_in_spite_of_them)
{
    char line[80], text[1024];

    begin(NULL);
    for (size_t i = 0; i < 64; i++)
        line[i] = "ABCDEFGHabcdefgh01234567"[i * 7 % 24];
    line[64] = '\0';
    (void)snprintf(text, sizeof(text),
                   "a\n-----BEGIN %s-----\n%s\n%.9s\033]0;t\a%s\nAb3=\n-----END %s-----\nb\n",
                   "RSA PRIVATE KEY", line, line, line + 9, "RSA PRIVATE KEY");
    check(text, "a\n[REDACTED_PRIVATE_KEY]\nb\n");
}

TEST(what_stands_in_a_sequence_is_read)
{
    static const char *const frames[][2] = {
        {"\033]0;", "\a"},    {"\033]8;;http://h/?t=", "\033\\link\033]8;;\033\\"},
        {"\033P", "\033\\"},  {"\033_", "\033\\"},
        {"\033^ ", "\033\\"}, {"\033X ", "\033\\"},
        {"\033]", ""},        {"\xc2\x9d", "\xc2\x9c"},
    };
    char text[256];

    begin(NULL);
    for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
        (void)snprintf(text, sizeof(text), "a %s%s%s z\n", frames[i][0], token(), frames[i][1]);
        buf_clear(&out);
        (void)feed(text);
        assert_null(strstr(finish(), token() + 8));
        assert_contains(buf_str(&out), label);
    }
    /* a token whose own letter begins the sequence */
    (void)snprintf(text, sizeof(text), "a ghp\033_%s\033\\ z\n", token() + 4);
    check(text, "a [REDACTED_GITHUB_TOKEN]\033\\ z\n");
}

TEST(a_sequence_that_never_ends_holds_nothing_back)
{
    begin(NULL);
    assert_string_equal(feed_bytes("\033]0;so far\n", 11), "\033]0;so far\n");
    assert_string_equal(feed_bytes("more\n", 5), "more\n");
    for (int i = 0; i < 3000; i++)
        assert_string_equal(feed_bytes("a line\n", 7), "a line\n");
    (void)feed_bytes(token(), 40);
    assert_string_equal(feed_bytes("\n", 1), "[REDACTED_GITHUB_TOKEN]\n");
    /* nor what had begun before it */
    (void)finish();
    buf_clear(&out);
    (void)feed_bytes("ghp_\033P", 6);
    for (int i = 0; i < 1000; i++)
        (void)feed_bytes("a line\n", 7);
    assert_true(out.len > 6000);
}

/* Nothing is lost or changed where there is no secret. */
TEST(other_text_stays_as_it_is)
{
    static const char *const words[] = {"word ",   "\n", "42",   "\u201cquoted\u201d ",
                                        "\033[1m", "\a", "\033", "\\",
                                        "gh",      "]",  "\xc2", "\x9c"};
    unsigned random = 1;

    begin(NULL);
    for (int round = 0; round < 2000; round++) {
        char text[1024] = "";
        size_t len = 0;

        for (int i = 0; i < 20; i++) {
            random = random * 1103515245 + 12345;
            unsigned pick = random >> 16;
            const char *word = pick & 1 ? words[(pick >> 1) % ARRAY_SIZE(words)]
                                        : sequences[(pick >> 1) % ARRAY_SIZE(sequences)];

            len += (size_t)snprintf(text + len, sizeof(text) - len, "%s", word);
        }
        buf_clear(&out);
        for (size_t at = 0; at < len; at += 1 + random % 7)
            (void)feed_bytes(text + at, len - at < 1 + random % 7 ? len - at : 1 + random % 7);
        assert_string_equal(finish(), text);
    }
}

TEST(both_readings_are_counted_and_told)
{
    char text[256];

    begin(NULL);
    (void)snprintf(text, sizeof(text), "%.9s\033]0;t\a%s \033]0;%s\a\n", token(), token() + 9,
                   token());
    (void)feed(text);
    assert_string_equal(finish(), "[REDACTED_GITHUB_TOKEN] \033]0;[REDACTED_GITHUB_TOKEN]\a\n");
    assert_int_equal(masker_count(masker), 2);
    /* and the next stream begins anew */
    buf_clear(&out);
    (void)feed_bytes("password = ", 11);
    (void)finish();
    buf_clear(&out);
    (void)feed_bytes("\033=x'falcon_07aj86cC!'\n", 22);
    assert_string_equal(finish(), "\033=x'falcon_07aj86cC!'\n");
}

static int teardown(void **state)
{
    (void)state;
    masker_free(masker);
    buf_done(&out);
    return 0;
}

UNIT_MAIN_WITH(NULL, teardown)
