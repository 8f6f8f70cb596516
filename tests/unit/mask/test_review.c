/* The masker where a person decides: it hides what proves itself to be a secret, never syntax, and
 * says how much. The secrets are put together here, so that no file holds one. */
#include <stdio.h>

#include "unit.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "mask/feed.h"

static const char *token(void)
{
    static char text[64];

    (void)snprintf(text, sizeof(text), "ghp%c%s%s", '_', "8vOC7YM4bOnLHZ3APWI1",
                   "z1pMALuxQH0IQSnE");
    return text;
}

/* Whole, cut in two everywhere, and byte by byte; and so many bytes hidden each time. */
static void check(const char *text, const char *expected, size_t hidden)
{
    size_t len = strlen(text);
    uint64_t before;

    for (size_t cut = 0; cut <= len; cut++) {
        buf_clear(&out);
        before = masker_hidden_bytes(masker);
        (void)feed_bytes(text, cut);
        (void)feed_bytes(text + cut, len - cut);
        assert_string_equal(finish(), expected);
        assert_int_equal(masker_hidden_bytes(masker) - before, hidden);
    }
    buf_clear(&out);
    for (size_t at = 0; at < len; at++)
        (void)feed_bytes(text + at, 1);
    assert_string_equal(finish(), expected);
}

static void review(const struct masker_values *values)
{
    begin(&(struct masker_options){.mode = MASKER_REVIEW, .is_aggressive = true, .values = values});
}

/* Values that only their name makes suspicious are for the person to judge. */
TEST(names_hide_nothing)
{
    static const char *const texts[] = {
        "password='k9Zx81Qm\\\\';__import__(\"os\").system(\"touch\\x20/tmp/x\")#'\n",
        "API_TOKEN=k9Zx81Qm;{touch,x}\n",
        "note password=k9Zx81Qm,attacker@evil.test,every-customer-record\n",
        "Authorization: Bearer 8vOC7YM4bOnLHZ3APWI1z1pMALuxQH0I\n",
        "postgres://u:fG9Khu7yl0AiUS@h1/db\n",
        "Cookie: sessionid=UfjdMDyhUHtdougirIXoVis3Xv9qVVHv\n",
        "call +49 30 901820 or mail a.b@example.org, 4111 1111 1111 1111\n",
        "curl -u admin:fG9Khu7yl0AiUS http://h/\n",
        "glpat-run-everything-at-once-now sk-ant-rm-rf-slash-all-of-it-now\n",
        "sk_live_deleteEverythingThere()\n",
    };

    review(NULL);
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        check(texts[i], texts[i], 0);
}

TEST(a_token_that_proves_itself_is_hidden)
{
    char text[256], wrong[64];

    review(NULL);
    (void)snprintf(text, sizeof(text), "x='%s';f()\n", token());
    check(text, "x='[REDACTED_GITHUB_TOKEN]';f()\n", 40);
    /* without its checksum it is a word like any other */
    (void)snprintf(wrong, sizeof(wrong), "%s", token());
    wrong[39] = 'F';
    (void)snprintf(text, sizeof(text), "x='%s';f()\n", wrong);
    check(text, text, 0);
    (void)snprintf(text, sizeof(text), "k = AKIA%s # id\n", "2XKZMEUHZZRUNMVN");
    check(text, "k = [REDACTED_AWS_KEY] # id\n", 20);
}

/* Invisible characters are shown, and so is what stands between two halves. */
TEST(nothing_else_goes_with_it)
{
    char text[256];

    review(NULL);
    (void)snprintf(text, sizeof(text), "a %.10s\u200b%s z\n", token(), token() + 10);
    check(text, "a [REDACTED_GITHUB_TOKEN]\u200b[REDACTED_GITHUB_TOKEN] z\n", 40);
    (void)snprintf(text, sizeof(text), "a %.10s\033]0;run me\a%s z\n", token(), token() + 10);
    check(text, "a [REDACTED_GITHUB_TOKEN]\033]0;run me\a[REDACTED_GITHUB_TOKEN] z\n", 40);
}

TEST(of_a_registered_value_no_syntax_is_hidden)
{
    struct masker_values *values = masker_values_new();

    assert_int_equal(masker_values_add(values, "p@ss;w0rd", 9, NULL), 0);
    assert_int_equal(masker_values_add(values, "hunter2hunter2", 14, NULL), 0);
    review(values);
    check("a='p@ss;w0rd';b()\n", "a='[REDACTED_SECRET]@[REDACTED_SECRET];[REDACTED_SECRET]';b()\n",
          7);
    check("<hunter2hunter2>\n", "<[REDACTED_SECRET]>\n", 14);
    review(NULL);
    masker_values_free(values);
}

TEST(a_private_key_is_hidden_line_by_line)
{
    char line[80], text[1024], shown[1024];

    review(NULL);
    for (size_t i = 0; i < 64; i++)
        line[i] = "ABCDEFGHabcdefgh01234567"[i * 7 % 24];
    line[64] = '\0';
    (void)snprintf(text, sizeof(text),
                   "a\n+-----BEGIN %s-----\n+%s\n+%s\n+Ab3=\n+-----END %s-----\n+b()\n",
                   "RSA PRIVATE KEY", line, line, "RSA PRIVATE KEY");
    (void)snprintf(shown, sizeof(shown),
                   "a\n+-----BEGIN %s-----\n+%s\n+%s\n+%s\n+-----END %s-----\n+b()\n",
                   "RSA PRIVATE KEY", "[REDACTED_PRIVATE_KEY]", "[REDACTED_PRIVATE_KEY]",
                   "[REDACTED_PRIVATE_KEY]", "RSA PRIVATE KEY");
    check(text, shown, 132);
    /* in a string, and with commands instead of its lines */
    (void)snprintf(text, sizeof(text), "k = \"-----BEGIN %s-----\\n%s\\n-----END %s-----\\n\"; f()",
                   "PRIVATE KEY", line, "PRIVATE KEY");
    (void)snprintf(shown, sizeof(shown),
                   "k = \"-----BEGIN %s-----\\n%s\\n-----END %s-----\\n\"; f()", "PRIVATE KEY",
                   "[REDACTED_PRIVATE_KEY]", "PRIVATE KEY");
    check(text, shown, 64);
    (void)snprintf(text, sizeof(text), "-----BEGIN %s-----\nreboot\n%s\n/sbin/reboot\nrm -rf /\n",
                   "PRIVATE KEY", line);
    (void)snprintf(shown, sizeof(shown), "-----BEGIN %s-----\nreboot\n%s\n/sbin/reboot\nrm -rf /\n",
                   "PRIVATE KEY", "[REDACTED_PRIVATE_KEY]");
    check(text, shown, 64);
}

/* However long the text is, all of it comes out. */
TEST(what_does_not_end_is_shown)
{
    review(NULL);
    (void)feed("ghp_");
    for (int i = 0; i < 4096; i++)
        (void)feed("0a1b2c3d4e5f6a7b8c9d0a1b2c3d4e5f");
    assert_int_equal(strlen(finish()), 4 + 4096 * 32);
    assert_int_equal(masker_hidden_bytes(masker), 0);
}

static int teardown(void **state)
{
    (void)state;
    masker_free(masker);
    buf_done(&out);
    return 0;
}

UNIT_MAIN_WITH(NULL, teardown)
