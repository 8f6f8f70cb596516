#include "unit.h"

#include <stdio.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/pattern.h"

static struct pattern *make(const char *text, bool ignores_case)
{
    struct pattern *pattern = NULL;
    struct error err = {0};

    if (pattern_new(text, strlen(text), ignores_case, &pattern, &err) < 0)
        fail_msg("%s", err.message);
    return pattern;
}

TEST(the_first_match_is_found_with_its_place)
{
    static const char text[] = "na\0me: Äpfel \xff\xfe 42 43";
    static const struct {
        const char *pattern;
        bool ignores_case;
        int start, end; /* -1: none */
    } cases[] = {
        {"[0-9]+", false, 17, 19},    {"me", false, 3, 5},    {"ME", false, -1, -1},
        {"ME", true, 3, 5},           {"äpfel", true, 7, 13}, {"a\\x00m", false, 1, 4},
        {"^na", false, 0, 2},         {"43$", false, 20, 22}, {"", false, 0, 0},
        {"(a|b)?zzz", false, -1, -1},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct pattern *pattern = make(cases[i].pattern, cases[i].ignores_case);
        size_t start = 999, end = 999;
        bool found = pattern_find(pattern, text, sizeof(text) - 1, &start, &end);

        assert_int_equal(found, cases[i].start >= 0);
        if (found) {
            assert_int_equal(start, cases[i].start);
            assert_int_equal(end, cases[i].end);
        }
        pattern_free(pattern);
    }
    pattern_free(NULL);
}

TEST(what_is_no_expression_says_why)
{
    static const char *const wrong[] = {"(",   "[a", "a{2,1}", "(?=x)",
                                        "\\1", "*",  "\xff",   "a{100000}"};
    struct pattern *pattern = NULL;
    struct error err = {0};
    char large[LIMIT_PATTERN_BYTES + 2];

    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        assert_int_equal(pattern_new(wrong[i], strlen(wrong[i]), false, &pattern, &err), -1);
        assert_error(&err, E_INVALID, "not a regular expression");
    }
    memset(large, 'a', sizeof(large));
    assert_int_equal(pattern_new(large, sizeof(large), false, &pattern, &err), -1);
    assert_error(&err, E_INVALID, "longer than");
    assert_int_equal(pattern_new("((a{100}){100}){100}", 20, false, &pattern, &err), -1);
    assert_error(&err, E_INVALID, "not a regular expression");
    assert_null(pattern);
}

static double seconds(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Those that take a backtracking engine for ever, and those that have more states than fit. */
TEST(evil_expressions_end_in_time_that_grows_with_the_text)
{
    static const char *const evil[] = {"(a+)+$",          "(a|aa)+$",         "(.*a){12}$",
                                       "([ab]*a){20}c",   "[ab]*a[ab]{900}c", "(?i)(x+x+)+y",
                                       "(a?){300}a{300}c"};
    char *text = malloc(LIMIT_SPOOL_LINE);
    unsigned chance = 1;

    for (size_t i = 0; i < LIMIT_SPOOL_LINE; i++) {
        chance = chance * 1103515245 + 12345;
        text[i] = chance >> 16 & 1 ? 'a' : 'b';
    }
    for (size_t i = 0; i < ARRAY_SIZE(evil); i++) {
        struct pattern *pattern = make(evil[i], false);
        double from = seconds();
        size_t start, end;

        (void)pattern_find(pattern, text, LIMIT_SPOOL_LINE, &start, &end);
        print_message("# %s: cost %zu, %.1f ms\n", evil[i], pattern_cost(pattern),
                      (seconds() - from) * 1e3);
        assert_true(seconds() - from < 20);
        pattern_free(pattern);
    }
    free(text);
}

UNIT_MAIN()
