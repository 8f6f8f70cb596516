/* The masker's work is linear in the text, whatever the text is. Texts are put together from
 * everything that makes it look: the beginnings of all kinds, words, signs, quotes and escapes,
 * repeated, nested, and between things before and behind them. Bytes examined are counted, not
 * time. */
#include <stdio.h>

#include "unit.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "mask/feed.h"
#include "mask/internal.h"
#include "mask/kinds.h"

#define SMALL ((size_t)4096)
#define LARGE (4 * SMALL)

/* Bytes examined for each byte of text. The masker withholds text at MASKER_WORK_HARD. */
#define BOUND ((uint64_t)96)

static char text[64 * KIB];

static const char *const separators[] = {
    "",  "=",  ":",    ": ",     " ",   "='",  "=\"",    "=\\\"",   "=\\\\\\\"", "=`", "\n",
    ",", ";a", "&",    "://",    "@",   ".",   "-",      "_",       "/",         "\\", "=$(",
    "#", "\"", "'",    "\": \"", "','", "\t",  "=a",     ":a@",     "%3D",       "|",  "=(",
    "<", ">",  "\r\n", "=f'{",   "={",  "={a", "\u200b", "\033[1m", "\033]0;"};

static const char *const words[] = {"name",
                                    "value",
                                    "key",
                                    "login",
                                    "machine",
                                    "kind: Secret\ndata:\n  a: ",
                                    "data:",
                                    "curl ",
                                    "bearer",
                                    "oauth",
                                    "digest a=\"",
                                    "aws4-hmac-sha256 ",
                                    "basic ",
                                    "cookies",
                                    "apiVersion: v1\n",
                                    "stringData:",
                                    "-----BEGIN RSA PRIVATE KEY-----",
                                    "-----BEGIN PRIVATE KEY-----\n",
                                    "-----END ",
                                    "\033P",
                                    "\033\\",
                                    "\xc2\x9d",
                                    "&quot;",
                                    "\"\"\"",
                                    "export ",
                                    "pwd",
                                    "xpwd",
                                    "--pwd",
                                    "x",
                                    "a=",
                                    "hunter2",
                                    "kn0wn",
                                    "EMP-123456",
                                    "-----BEGIN PRIVATE KEY-----\\n",
                                    "pwd={",
                                    "pwd=a{b",
                                    "pwd: |\n ",
                                    "pwd: |\n  x\n pwd: >\n  ",
                                    "pwd=\"\"\"\n",
                                    "pwd=\"\n",
                                    "pwd='a\npwd=\"b\npwd=`c\n",
                                    "pwd=a(b",
                                    "pwd=;a(",
                                    "pwd=a;b ",
                                    "[(\"pwd=a",
                                    "export pwd=a;`"};

/* Text before and after the whole. */
static const char *const frames[][2] = {
    {"", ""},
    {"", "\n"},
    {"", "://x\n"},
    {"pwd='", "'\n"},
    {"authorization: ", "=="},
    {"kind: Secret\n", "\"\n"},
};

/* A text that the pattern of a kind begins to match: the first of every class, as often as it has
 * to be there, but not longer than its anchor needs. */
static size_t sample(const char *pattern, char *out_text, size_t size)
{
    size_t n = 0;

    for (const char *at = pattern; *at && n + 1 < size;) {
        char c = *at;
        size_t count = 1;

        if (c == '(' || c == ')') {
            at++;
            continue;
        }
        if (c == '[') {
            at++;
            c = *at == '^' ? '=' : *at == '\\' ? at[1] : *at;
            at = strchr(at, ']') + 1;
        } else {
            at += c == '\\';
            c = *at++;
        }
        if (*at == '?') {
            at++;
        } else if (*at == '{') {
            count = strtoul(at + 1, NULL, 10);
            at = strchr(at, '}') + 1;
        }
        for (; count && n + 1 < size; count--)
            out_text[n++] = c;
    }
    out_text[n] = '\0';
    return n;
}

static size_t make_text(const char *before, const char *brick, size_t brick_len, const char *behind,
                        size_t size)
{
    size_t n = strlen(before), end = size - strlen(behind);

    memcpy(text, before, n);
    for (; n + brick_len <= end; n += brick_len)
        memcpy(text + n, brick, brick_len);
    memcpy(text + n, behind, strlen(behind));
    return n + strlen(behind);
}

static uint64_t work_of(const struct masker_options *options, size_t len, size_t piece)
{
    uint64_t work;

    begin(options);
    for (size_t at = 0; at < len; at += piece)
        (void)feed_bytes(text + at, len - at < piece ? len - at : piece);
    (void)finish();
    work = masker_is_over(masker) ? UINT32_MAX : masker_work(masker);
    assert_true(masker->view.size <= 4 * MASKER_BLOCK + 1);
    return work;
}

static uint64_t worst;
static unsigned wrong;
static const struct masker_options *asked;

/* All of them are told, so that one run says what is to be mended. */
static void check(const char *before, const char *brick, const char *behind)
{
    size_t len = strlen(brick);
    size_t small = make_text(before, brick, len, behind, SMALL), large;
    uint64_t some = work_of(asked, small, small + 1), more;

    large = make_text(before, brick, len, behind, LARGE);
    more = work_of(asked, large, large + 1);
    if (more / large > worst)
        worst = more / large;
    /* Escaped text is read twice, perhaps only what is too long to be masked as a whole. */
    if (more <= 2 * BOUND * large && more <= 6 * some + 48 * LARGE)
        return;
    wrong++;
    (void)printf("# %llu bytes examined for %zu, %llu for %zu: [%s] [%s] [%s]\n",
                 (unsigned long long)some, small, (unsigned long long)more, large, before, brick,
                 behind);
}

static void check_brick(const char *word)
{
    static size_t turn;
    char brick[128];

    for (size_t i = 0; i < ARRAY_SIZE(separators); i++) {
        (void)snprintf(brick, sizeof(brick), "%s%s", word, separators[i]);
        /* Not all frames for each, so that the whole takes seconds. */
        check(frames[turn % ARRAY_SIZE(frames)][0], brick, frames[turn % ARRAY_SIZE(frames)][1]);
        turn++;
    }
    turn++; /* and others with the next word */
}

static void check_all(const struct masker_options *options)
{
    char brick[64];

    wrong = 0;
    asked = options;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        check_brick(words[i]);
    for (unsigned i = 0; i < masker_kind_count; i++) {
        (void)sample(masker_kinds[i].pattern, brick, 17);
        check_brick(brick);
        if (strlen(brick) == 16) {
            (void)sample(masker_kinds[i].pattern, brick, sizeof(brick));
            check("", brick, "\n");
        }
    }
    asked = NULL;
    assert_int_equal(wrong, 0);
}

TEST(every_kind_is_linear)
{
    check_all(&(struct masker_options){.is_aggressive = true});
    (void)printf("# at most %llu bytes examined for one\n", (unsigned long long)worst);
}

TEST(review_is_linear)
{
    check_all(&(struct masker_options){.mode = MASKER_REVIEW});
}

/* Two things after one another, and one in the other. */
TEST(mixtures_are_linear)
{
    static const char *const parts[] = {"pwd=",
                                        "pwd: ",
                                        "pwd='",
                                        "pwd=\"",
                                        "pwd=\\\"",
                                        "token ",
                                        "--key ",
                                        "auth:",
                                        "a@b.c",
                                        "+49 (",
                                        "authorization=",
                                        "cookie=",
                                        ":5432:",
                                        "&key=",
                                        "data:",
                                        "-u ",
                                        "://",
                                        "ghp_",
                                        "eyJ",
                                        "xoxb-",
                                        "AKIA",
                                        "heroku ",
                                        "\033]",
                                        "1.1.",
                                        "f\"{",
                                        "\\",
                                        "'",
                                        "\"",
                                        "`",
                                        "\n",
                                        ",a",
                                        "$(",
                                        "pwd: |\n ",
                                        "pwd=\"\"\"",
                                        ";a("};
    struct masker_options options = {.is_aggressive = true};
    char brick[64];

    wrong = 0;
    asked = &options;
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        for (size_t j = 0; j < ARRAY_SIZE(parts); j++) {
            (void)snprintf(brick, sizeof(brick), "%s%s", parts[i], parts[j]);
            check("", brick, "://x\n");
            (void)snprintf(brick, sizeof(brick), "%s%s%s", parts[i], parts[j], parts[i]);
            check("kind: Secret curl ", brick, "'");
        }
    asked = NULL;
    assert_int_equal(wrong, 0);
}

/* Behind each private key the view is looked at anew: whatever reads across many of them would read
 * as often. */
TEST(keys_between_are_linear)
{
    static const char *const signs[] = {"", "=", ": ", "=\"", ": a=", " a: \"b\"\n "};
    static const char key[] = "-----BEGIN PRIVATE KEY-";
    struct masker_options options = {.is_aggressive = true};
    char brick[128], word[17];

    wrong = 0;
    asked = &options;
    for (size_t i = 0; i < ARRAY_SIZE(signs); i++) {
        for (size_t w = 0; w < ARRAY_SIZE(words); w++) {
            (void)snprintf(brick, sizeof(brick), "%s%s%s", words[w], signs[i], key);
            check("kind: Secret\n", brick, "\n");
        }
        for (unsigned k = (unsigned)i; k < masker_kind_count; k += ARRAY_SIZE(signs)) {
            (void)sample(masker_kinds[k].pattern, word, sizeof(word));
            (void)snprintf(brick, sizeof(brick), "%s%s%s", word, signs[i], key);
            check("", brick, "");
        }
    }
    asked = NULL;
    assert_int_equal(wrong, 0);
}

/* Also for values and rules, which are the operator's, on text of somebody who knows them. */
TEST(known_values_and_rules_are_linear)
{
    struct masker_values *values = masker_values_new();
    struct masker_rules *rules = masker_rules_new();
    struct masker_options options = {.values = values, .rules = rules};
    char known[64];

    for (int i = 0; i < 20; i++) {
        (void)snprintf(known, sizeof(known), "kn0wn-value-%d-of-many", i);
        assert_int_equal(masker_values_add(values, known, strlen(known), NULL), 0);
    }
    assert_int_equal(masker_rules_add(rules, "badge", "EMP-[0-9]{6}", "staff people", NULL), 0);
    wrong = 0;
    asked = &options;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        check_brick(words[i]);
    check_brick("kn0wn-value-");
    check_brick("kn0wn-value-1-of-many");
    check_brick("a24wd24td");
    asked = NULL;
    assert_int_equal(wrong, 0);
    begin(NULL);
    masker_values_free(values);
    masker_rules_free(rules);
}

/* In single bytes, every one of which could be a reason to look at all that waits again. */
TEST(small_pieces_are_linear)
{
    static const char *const bricks[] = {"pwd=",
                                         "pwd='a",
                                         "eyJ",
                                         "\033]",
                                         "kn",
                                         "cookie: a=",
                                         "-----BEGIN ",
                                         "authorization=",
                                         "ghp_",
                                         "a@b.",
                                         "x\n",
                                         ".",
                                         "-----BEGIN PRIVATE KEY-----",
                                         "\u200b",
                                         "\033[1m",
                                         "data: ",
                                         "heroku-"};
    struct masker_options options = {.is_aggressive = true};

    for (size_t i = 0; i < ARRAY_SIZE(bricks); i++)
        for (size_t piece = 1; piece <= 64; piece *= 4) {
            size_t len = make_text("", bricks[i], strlen(bricks[i]), "", sizeof(text));
            uint64_t work = work_of(&options, len, piece);
            uint64_t most = MASKER_WORK_START + (BOUND + MASKER_WORK_FEED / piece) * len;

            if (work > most)
                fail_msg("%llu bytes examined for each in pieces of %zu: [%s]",
                         (unsigned long long)(work / len), piece, bricks[i]);
        }
}

/* The bytes that come out of a flood of one brick behind an open quote. */
enum flood { SHOWN, MASKED, INVISIBLE };

static void check_flood(enum flood flood, size_t fed, size_t came)
{
    switch (flood) {
    case SHOWN: /* all but the value that was open */
        assert_in_range(came, fed - 2 * MASKER_HOLD_MAX, fed + MASKER_HOLD_MAX);
        break;
    case MASKED: /* one mark stands for all of it */
        assert_in_range(came, 1, 128);
        break;
    case INVISIBLE: /* what is kept of it */
        assert_in_range(came, MASKER_GAPS_MAX / 2, MASKER_GAPS_MAX + 128);
        break;
    }
}

/* The waiting text does not grow, and comes out in the end. */
TEST(what_waits_is_bounded)
{
    static const char head[] = "kind: Secret\ndata:\n a: password='", tail[] = "\033\\'\nthe end\n";
    static const struct {
        const char *brick;
        enum flood flood;
    } floods[] = {
        {"a", MASKED},           {"pwd=", MASKED},      {"cookie: a=b; ", SHOWN},
        {"\033]0;", INVISIBLE},  {"\u200b", INVISIBLE}, {"\033[1m", INVISIBLE},
        {"data: a: b\n", SHOWN}, {"\\n", MASKED},       {"password: ", SHOWN},
    };

    for (size_t i = 0; i < ARRAY_SIZE(floods); i++) {
        const char *brick = floods[i].brick, *end;
        size_t fed = sizeof(head) + sizeof(tail) - 2, came = 0;

        begin(&(struct masker_options){.is_aggressive = true});
        (void)feed(head);
        for (int round = 0; round < 40; round++) {
            size_t len = make_text("", brick, strlen(brick), "", sizeof(text));

            (void)feed_bytes(text, len);
            assert_true(masker->view.len <= 2 * MASKER_BLOCK + 2 * MASKER_HOLD_MAX);
            assert_true(masker->gap_bytes.len <= MASKER_GAPS_MAX);
            assert_true(masker->spans_size <= MASKER_BLOCK);
            fed += len;
            came += out.len;
            buf_clear(&out);
        }
        (void)feed(tail);
        end = finish();
        came += out.len;
        assert_true(out.len >= strlen("\nthe end\n"));
        assert_string_equal(end + out.len - strlen("\nthe end\n"), "\nthe end\n");
        check_flood(floods[i].flood, fed, came);
    }
}

static int teardown(void **state)
{
    (void)state;
    masker_free(masker);
    buf_done(&out);
    return 0;
}

UNIT_MAIN_WITH(NULL, teardown)
