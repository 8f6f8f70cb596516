#include "unit.h"

#include "api/batch_judge.h"

static bool match(const char *rule, const char *got, const char *expected)
{
    return batch_judge_matches(batch_judge_rule(rule), (struct span){got, strlen(got)},
                               (struct span){expected, strlen(expected)});
}

TEST(lines_forgive_white_space_at_their_ends)
{
    assert_true(match(NULL, "1 2\n3\n", "1 2\n3\n"));
    assert_true(match(NULL, "1 2  \n3\t\r\n\n\n", "1 2\n3"));
    assert_true(match("lines", "", "\n \n"));
    assert_true(match("lines", "a\n\nb", "a \n\t\nb\n"));
    assert_false(match("lines", " 1 2\n", "1 2\n"));
    assert_false(match("lines", "1  2\n", "1 2\n"));
    assert_false(match("lines", "1\n\n2\n", "1\n2\n"));
    assert_false(match("lines", "1\n2\n", "1\n"));
    assert_false(match("lines", "", "0"));
}

TEST(exact_forgives_nothing)
{
    assert_true(match("exact", "a\n", "a\n"));
    assert_true(match("exact", "", ""));
    assert_false(match("exact", "a\n", "a"));
    assert_false(match("exact", "a \n", "a\n"));
}

TEST(tokens_count_and_nothing_between)
{
    assert_true(match("tokens", "1 2\n3", " 1\n2\t3\n\n"));
    assert_true(match("tokens", " \n", ""));
    assert_false(match("tokens", "12 3", "1 23"));
    assert_false(match("tokens", "1 2", "1 2 3"));
    assert_false(match("tokens", "1 2 3", "1 2"));
}

TEST(bytes_are_bytes)
{
    struct span a = {"a\0b", 3}, b = {"a\0c", 3}, none = {NULL, 0}, end = {"a\0b\n", 4};

    for (int rule = BATCH_JUDGE_LINES; rule <= BATCH_JUDGE_TOKENS; rule++) {
        assert_true(batch_judge_matches((enum batch_judge_rule)rule, a, a));
        assert_false(batch_judge_matches((enum batch_judge_rule)rule, a, b));
        assert_true(batch_judge_matches((enum batch_judge_rule)rule, none, none));
        assert_false(batch_judge_matches((enum batch_judge_rule)rule, a, none));
    }
    assert_true(batch_judge_matches(BATCH_JUDGE_LINES, a, end));
}

UNIT_MAIN()
