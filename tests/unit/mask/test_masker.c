/* The stream: what waits, what does not, and what never comes out. The secrets are put together
 * here, so that no file holds one. */
#include <stdio.h>

#include "unit.h"

#include "base/buf.h"
#include "base/limits.h"
#include "mask/feed.h"
#include "mask/internal.h"
#include "mask/kinds.h"

static const char *mask(const char *text)
{
    buf_clear(&out);
    feed(text);
    return finish();
}

/* "ghp_" and 36 characters. */
static const char *token(void)
{
    static char text[64];

    (void)snprintf(text, sizeof(text), "ghp%c%s%s", '_', "8vOC7YM4bOnLHZ3APWI1",
                   "z1pMALuxQH0IQSnE");
    return text;
}

TEST(an_ordinary_line_comes_out_at_once)
{
    begin(NULL);
    assert_string_equal(feed("hello world\n"), "hello world\n");
    assert_string_equal(feed("50% done "), "50% done ");
    assert_string_equal(feed("...."), "....");
    assert_string_equal(feed("Enter password: "), "Enter password: ");
    assert_string_equal(feed(">>> "), ">>> ");
    assert_string_equal(feed("a task of words\n"), "a task of words\n");
}

TEST(a_word_that_may_become_a_secret_waits)
{
    begin(NULL);
    assert_string_equal(feed("see gh"), "see ");
    assert_string_equal(feed("ost\n"), "ghost\n");
    assert_string_equal(feed("see ghp_"), "see ");
    assert_string_equal(feed(token() + 4), "");
    assert_string_equal(feed("\n"), "[REDACTED_GITHUB_TOKEN]\n");
}

TEST(the_end_of_the_stream_ends_what_waits)
{
    char text[128];

    begin(NULL);
    (void)snprintf(text, sizeof(text), "x %s", token());
    assert_string_equal(mask(text), "x [REDACTED_GITHUB_TOKEN]");
    assert_string_equal(mask("x gh"), "x gh");
    /* most of a token, cut off by the end */
    text[26] = '\0';
    assert_string_equal(mask(text), "x [REDACTED_GITHUB_TOKEN]");
}

TEST(a_masker_is_ready_for_the_next_stream)
{
    begin(NULL);
    assert_string_equal(mask("password = "), "password = ");
    assert_string_equal(mask("'falcon_07aj86cC!'\n"), "'falcon_07aj86cC!'\n");
}

TEST(invisible_things_inside_do_not_help)
{
    char text[256];

    begin(NULL);
    (void)snprintf(text, sizeof(text), "\033[32m%.10s\033[1m%.10s\u200b%s\033[0m end", token(),
                   token() + 10, token() + 20);
    assert_string_equal(mask(text), "\033[32m[REDACTED_GITHUB_TOKEN]\033[0m end");
    (void)snprintf(text, sizeof(text), "gh%cp_%s", 8, token() + 4);
    assert_string_equal(mask(text), "[REDACTED_GITHUB_TOKEN]");
    (void)snprintf(text, sizeof(text),
                   "%.10s\xc2\x9b"
                   "31m%.10s\U000e0041%.5s\U000e0101%s",
                   token(), token() + 10, token() + 20, token() + 25);
    assert_string_equal(mask(text), "[REDACTED_GITHUB_TOKEN]");
    /* what is no secret keeps them */
    assert_string_equal(mask("a\033[1mb\u200bc\n"), "a\033[1mb\u200bc\n");
}

/* Many of them, alone and behind a line, in large pieces and one by one. */
TEST(invisible_things_are_passed_on_whole)
{
    static char data[300000];
    static const size_t pieces[] = {1, 4096, 65536, sizeof(data)};

    for (size_t i = 0; i < 2 * sizeof(pieces) / sizeof(pieces[0]); i++) {
        size_t piece = pieces[i / 2], came = 0;
        struct clean_text text;

        memset(data, 1, sizeof(data));
        data[0] = i % 2 ? '\n' : 1;
        masker_free(masker);
        masker = masker_new(&(struct masker_options){0});
        for (size_t at = 0; at < sizeof(data); at += piece) {
            assert_int_equal(masker_feed(masker, data + at,
                                         piece < sizeof(data) - at ? piece : sizeof(data) - at,
                                         &text, NULL),
                             0);
            came += clean_len(text);
        }
        assert_int_equal(masker_finish(masker, &text, NULL), 0);
        assert_int_equal(came + clean_len(text), sizeof(data));
        assert_true(masker->gaps_size <= 16); /* what has come out takes no room */
    }
}

/* The text of a window title is text. */
TEST(a_secret_in_a_terminal_sequence_is_found)
{
    char text[128];

    begin(NULL);
    (void)snprintf(text, sizeof(text), "\033]0;%s\a", token());
    assert_string_equal(mask(text), "\033]0;[REDACTED_GITHUB_TOKEN]\a");
}

TEST(a_private_key_goes_from_begin_to_end)
{
    char line[80], text[1024];

    begin(NULL);
    for (size_t i = 0; i < 64; i++)
        line[i] = "ABCDEFGHabcdefgh01234567"[i * 7 % 24];
    line[64] = '\0';
    (void)snprintf(text, sizeof(text), "a\n-----BEGIN %s-----\n%s\n%s\nAb3=\n-----END %s-----\nb\n",
                   "RSA PRIVATE KEY", line, line, "RSA PRIVATE KEY");
    assert_string_equal(mask(text), "a\n[REDACTED_PRIVATE_KEY]\nb\n");
    /* inside a string of JSON */
    (void)snprintf(text, sizeof(text), "{\"k\": \"-----BEGIN %s-----\\n%s\\n-----END %s-----\\n\"}",
                   "PRIVATE KEY", line, "PRIVATE KEY");
    assert_string_equal(mask(text), "{\"k\": \"[REDACTED_PRIVATE_KEY]\\n\"}");
    /* without an end: as far as it looks like a key */
    (void)snprintf(text, sizeof(text), "-----BEGIN %s-----\n%s\nthe rest is lost\n", "PRIVATE KEY",
                   line);
    assert_string_equal(mask(text), "[REDACTED_PRIVATE_KEY]the rest is lost\n");
    (void)snprintf(text, sizeof(text), "-----BEGIN %s-----\n%s\n-----END %s-----\n", "CERTIFICATE",
                   line, "CERTIFICATE");
    assert_string_equal(mask(text), text);
}

TEST(a_secret_without_end_is_one_and_takes_no_memory)
{
    begin(NULL);
    feed("password='");
    for (int i = 0; i < 4096; i++)
        feed("0a1b2c3d4e5f6a7b8c9d0a1b2c3d4e5f");
    feed("' end\n");
    assert_string_equal(finish(), "password='[REDACTED_SECRET]' end\n");
}

/* ---- known values ---- */

static void add_forms(const char *value, char forms[8][128])
{
    static const char b64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t len = strlen(value), n = 0;

    (void)snprintf(forms[0], 128, "%s", value);
    for (size_t i = 0; i < len; i++) {
        (void)snprintf(forms[1] + 2 * i, 3, "%02x", (unsigned)(unsigned char)value[i]);
        (void)snprintf(forms[2] + 2 * i, 3, "%02X", (unsigned)(unsigned char)value[i]);
    }
    for (size_t i = 0; i < len; i++) {
        bool is_plain = strchr("abcdefghijklmnopqrstuvwxyz0123456789-._~", value[i]) != NULL;

        n += (size_t)snprintf(forms[3] + n, 128 - n, is_plain ? "%c" : "%%%02X",
                              (unsigned char)value[i]);
    }
    n = 0;
    for (size_t i = 0; i < len; i++)
        n += (size_t)snprintf(forms[4] + n, 128 - n, strchr("\"\\", value[i]) ? "\\%c" : "%c",
                              value[i]);
    /* "ab" + value, as whole base64: alignments 0, 1 and 2 */
    for (int pad = 0; pad < 3; pad++) {
        unsigned char plain[64];
        size_t total = (size_t)pad + len;

        memset(plain, 'x', sizeof(plain));
        memcpy(plain + pad, value, len);
        total += (3 - total % 3) % 3;
        for (n = 0; n < total; n += 3) {
            uint32_t bits = (uint32_t)plain[n] << 16 | (uint32_t)plain[n + 1] << 8 | plain[n + 2];

            for (int c = 0; c < 4; c++)
                forms[5 + pad][n / 3 * 4 + (size_t)c] = b64[bits >> (18 - 6 * c) & 63];
        }
        forms[5 + pad][total / 3 * 4] = '\0';
    }
}

/* Every value, every form, every way of cutting it in two, and byte by byte. */
TEST(a_known_value_never_comes_out)
{
    static const char *const known[] = {"hunter2!", "correct horse\"battery\\staple",
                                        "p\xc3\xa4ssw\xc3\xb6rt/1"};
    struct masker_values *values = masker_values_new();

    for (size_t i = 0; i < 3; i++)
        assert_int_equal(masker_values_add(values, known[i], strlen(known[i]), NULL), 0);
    begin(&(struct masker_options){.values = values});
    for (size_t i = 0; i < 3; i++) {
        char forms[8][128] = {{0}};

        add_forms(known[i], forms);
        for (size_t f = 0; f < 8; f++) {
            char text[192];
            size_t len = (size_t)snprintf(text, sizeof(text), "a %s z", forms[f]);

            for (size_t cut = 0; cut <= len; cut++) {
                buf_clear(&out);
                feed_bytes(text, cut);
                feed_bytes(text + cut, len - cut);
                (void)finish();
                assert_contains(buf_str(&out), "[REDACTED_SECRET]");
                if (f < 5)
                    assert_string_equal(buf_str(&out), "a [REDACTED_SECRET] z");
                assert_null(strstr(buf_str(&out), forms[f]));
            }
            buf_clear(&out);
            for (size_t at = 0; at < len; at++)
                feed_bytes(text + at, 1);
            assert_contains(finish(), "[REDACTED_SECRET]");
        }
    }
    begin(NULL);
    masker_values_free(values);
}

static void check_value(const char *text, const char *masked)
{
    assert_string_equal(mask(text), masked);
    buf_clear(&out);
    for (size_t at = 0; text[at]; at++)
        feed_bytes(text + at, 1);
    assert_string_equal(finish(), masked);
}

/* As json.dumps() writes it, and as a string within a string. */
TEST(a_known_value_is_found_behind_escapes)
{
    static const char value[] = "p\xc3\xa4ss\xf0\x9f\x94\x91/1";
    struct masker_values *values = masker_values_new();

    assert_int_equal(masker_values_add(values, value, strlen(value), NULL), 0);
    begin(&(struct masker_options){.values = values});
    check_value("\"p\\u00e4ss\\ud83d\\udd11/1\"", "\"[REDACTED_SECRET]\"");
    check_value("\"p\\u00E4ss\\uD83D\\uDD11\\/1\"", "\"[REDACTED_SECRET]\"");
    check_value("\"p\\\\u00e4ss\\\\ud83d\\\\udd11/1\"", "\"[REDACTED_SECRET]\"");
    begin(NULL);
    masker_values_free(values);
}

TEST(a_known_value_is_found_in_the_name_of_a_host)
{
    struct masker_values *values = masker_values_new();

    assert_int_equal(masker_values_add(values, "SuperSecretValue99", 18, NULL), 0);
    begin(&(struct masker_options){.values = values});
    check_value("connect to supersecretvalue99.example.com:80",
                "connect to [REDACTED_SECRET].example.com:80");
    begin(NULL);
    masker_values_free(values);
}

/* base64(1) and base64.encodebytes() end lines wherever they are full. */
TEST(a_known_value_is_found_across_lines_of_base64)
{
    static const char form[] = "Y29ycmVjdCBob3JzZSBiYXR0ZXJ5IHN0YXBsZSE=";
    struct masker_values *values = masker_values_new();

    assert_int_equal(masker_values_add(values, "correct horse battery staple!", 29, NULL), 0);
    begin(&(struct masker_options){.values = values});
    for (int width = 4; width < 38; width++) {
        char text[128];

        (void)snprintf(text, sizeof(text), "%.*s\n%s\n", width, form, form + width);
        check_value(text, "[REDACTED_SECRET]E=\n");
        (void)snprintf(text, sizeof(text), "%.*s\r\n%s\n", width, form, form + width);
        check_value(text, "[REDACTED_SECRET]E=\n");
    }
    begin(NULL);
    masker_values_free(values);
}

/* Nothing of either comes out where one begins in the other. */
TEST(values_may_overlap)
{
    struct masker_values *values = masker_values_new();

    assert_int_equal(masker_values_add(values, "abcdef1234", 10, NULL), 0);
    assert_int_equal(masker_values_add(values, "1234567890x", 11, NULL), 0);
    begin(&(struct masker_options){.values = values});
    check_value("<abcdef1234567890x>", "<[REDACTED_SECRET]>");
    begin(NULL);
    masker_values_free(values);
}

TEST(a_value_that_is_everywhere_is_refused)
{
    struct masker_values *values = masker_values_new();
    struct error err = {0};

    assert_true(masker_values_add(values, "abc", 3, &err) < 0);
    assert_error(&err, E_INVALID, "6 to 2048");
    masker_values_free(values);
}

/* ---- rules of the operator ---- */

TEST(a_rule_is_one_more_kind)
{
    struct masker_rules *rules = masker_rules_new();
    struct masker_options options = {.rules = rules};

    assert_int_equal(masker_rules_add(rules, "badge", "EMP-[0-9]{6}", NULL, NULL), 0);
    assert_int_equal(masker_rules_add(rules, "room", "R[0-9]{3}", "room office", NULL), 0);
    begin(&options);
    assert_string_equal(mask("EMP-123456 and EMP-1\n"), "[REDACTED_BADGE] and EMP-1\n");
    assert_string_equal(mask("office R101\n"), "office [REDACTED_ROOM]\n");
    assert_string_equal(mask("part R101\n"), "part R101\n");
    buf_clear(&out);
    assert_string_equal(feed("x EMP-12"), "");
    assert_string_equal(feed("3456\ny"), "x [REDACTED_BADGE]\n");
    assert_string_equal(finish(), "x [REDACTED_BADGE]\ny");
    begin(NULL);
    masker_rules_free(rules);
}

/* A line that is too long to wait for: what a rule finds in it does not depend on where it stands,
 * nor on how the stream was cut. */
TEST(a_rule_sees_lines_without_end)
{
    static char text[24 * KIB];
    struct masker_rules *rules = masker_rules_new();
    const char *left;

    assert_int_equal(masker_rules_add(rules, "badge", "EMP-[0-9]{6}", NULL, NULL), 0);
    for (size_t at = 5000; at < 20000; at += 3) {
        size_t step = 500 + at % 4001;

        for (size_t i = 0; i < sizeof(text); i++)
            text[i] = i % 2 ? ' ' : 'x';
        memcpy(text + at, "EMP-123456", 10);
        begin(&(struct masker_options){.rules = rules});
        for (size_t from = 0; from < sizeof(text); from += step)
            feed_bytes(text + from, sizeof(text) - from < step ? sizeof(text) - from : step);
        assert_contains(finish(), "[REDACTED_BADGE]");
        assert_null(strstr(buf_str(&out), "EMP-"));
    }
    /* One after the other, so that every place to stop is inside of one. */
    for (size_t step = 1000; step < 9000; step += 777) {
        begin(&(struct masker_options){.rules = rules});
        for (size_t i = 0; i < sizeof(text); i++)
            text[i] = "EMP-123456"[i % 10];
        for (size_t from = 0; from < 10 * sizeof(text); from += step) {
            size_t at = from % 10;

            feed_bytes(text + at, step);
        }
        for (left = finish(); strncmp(left, "[REDACTED_BADGE]", 16) == 0;)
            left += 16;
        assert_true(strlen(left) < 10); /* one that was not ended */
    }
    begin(NULL);
    masker_rules_free(rules);
}

TEST(a_wrong_rule_is_told)
{
    struct masker_rules *rules = masker_rules_new();
    struct error err = {0};

    assert_true(masker_rules_add(rules, "Bad Name", "x", NULL, &err) < 0);
    assert_error(&err, E_INVALID, "cannot be the name");
    assert_true(masker_rules_add(rules, "a", "(", NULL, &err) < 0);
    assert_error(&err, E_INVALID, "rule `a`");
    assert_true(masker_rules_add(rules, "a", "x*", NULL, &err) < 0);
    assert_error(&err, E_INVALID, "empty text");
    masker_rules_free(rules);
}

/* ---- what is told ---- */

static unsigned n_finds;
static struct masker_find last;

static void on_find(void *arg, const struct masker_find *find)
{
    (void)arg;
    n_finds++;
    last = *find;
}

TEST(what_was_masked_is_told)
{
    char text[128];

    begin(&(struct masker_options){.on_find = on_find});
    (void)snprintf(text, sizeof(text), "one\ntwo\nsee %s\n", token());
    mask(text);
    assert_int_equal(n_finds, 1);
    assert_string_equal(last.kind, "github_token");
    assert_int_equal(last.line, 3);
    assert_int_equal(last.offset, 12);
    assert_int_equal(last.len, 40);
    assert_int_equal(masker_count(masker), 1);
}

TEST(the_table_is_large_and_sound)
{
    unsigned secrets = 0, i;

    for (i = 0; masker_kind_at(i); i++) {
        const struct masker_kind *kind = masker_kind_at(i);
        bool is_new = true;

        for (unsigned j = 0; j < i; j++)
            if (strcmp(masker_kind_at(j)->name, kind->name) == 0)
                is_new = false;
        secrets += is_new && !(kind->flags & MASKER_AGGRESSIVE);
        assert_true(kind->label[0] == '[' && kind->label[strlen(kind->label) - 1] == ']');
        assert_in_range(masker_programs[i].width, 1, 16);
    }
    assert_true(secrets >= 60);
}

static int teardown(void **state)
{
    (void)state;
    masker_free(masker);
    buf_done(&out);
    return 0;
}

/* Text is masked again on its way: the second time changes nothing. */
TEST(a_label_is_no_name)
{
    static const char once[] = "[REDACTED_SECRET] = hunter2V9xQ\n[REDACTED_API_KEY]: b7n3\n";

    begin(NULL);
    assert_string_equal(mask(once), once);
    assert_string_equal(mask("a[SECRET] = hunter2V9xQ\n"), "a[SECRET] = [REDACTED_SECRET]\n");
}

UNIT_MAIN_WITH(NULL, teardown)
