#include "base/glob.h"

#include <string.h>

#include "unit.h"

#define PLENTY ((uint64_t)1000000)

static bool matches(const char *pattern, const char *path)
{
    uint64_t budget = PLENTY;
    bool is_match = glob_match(pattern, path, &budget);

    assert_true(budget > 0);
    return is_match;
}

TEST(a_star_stops_at_a_slash)
{
    assert_true(matches("*.csv", "a.csv"));
    assert_true(matches("*.csv", ".csv"));
    assert_true(matches("*", ".hidden"));
    assert_true(matches("a*b*c", "aXbbc"));
    assert_true(matches("*a*", "xxaxx"));
    assert_true(matches("**", "name"));
    assert_false(matches("*.csv", "d/a.csv"));
    assert_false(matches("*.csv", "a.csvx"));
    assert_false(matches("d/*", "d"));
    assert_false(matches("d/*", "d/e/f"));
    assert_true(matches("d/*/f", "d/e/f"));
    assert_false(matches("**", "d/name"));
    assert_false(matches("", "a"));
}

TEST(a_question_mark_is_one_character)
{
    assert_true(matches("?.txt", "a.txt"));
    assert_true(matches("?.txt", "\xc3\xa9.txt"));
    assert_true(matches("*??", "\xf0\x9f\x98\x80z"));
    assert_false(matches("?.txt", ".txt"));
    assert_false(matches("a?b", "a/b"));
}

TEST(classes_and_escapes_are_read)
{
    assert_true(matches("[a-c]1", "b1"));
    assert_true(matches("[!a-c]1", "d1"));
    assert_true(matches("[^a-c]1", "d1"));
    assert_true(matches("[]x]", "]"));
    assert_true(matches("[a-]", "-"));
    assert_true(matches("*[0-9]", "run7"));
    assert_true(matches("[ab", "[ab"));
    assert_true(matches("\\*", "*"));
    assert_true(matches("a\\", "a\\"));
    assert_false(matches("\\*", "x"));
    assert_false(matches("[a-c]1", "d1"));
    assert_false(matches("[!a]", "/"));
    assert_false(matches("a[/]b", "a/b"));
}

TEST(two_stars_and_a_slash_are_any_directories)
{
    assert_true(matches("**/a.csv", "a.csv"));
    assert_true(matches("**/a.csv", "d/e/a.csv"));
    assert_true(matches("**/e/*.csv", "d/e/a.csv"));
    assert_true(matches("d/**/a.csv", "d/a.csv"));
    assert_true(matches("d/**/a.csv", "d/e/f/a.csv"));
    assert_true(matches("**/d/**/f", "x/d/y/d/z/f"));
    assert_false(matches("**/e/*.csv", "e/f/a.csv"));
    assert_false(matches("d/**/a.csv", "e/a.csv"));
    assert_false(matches("**/d", "xd"));
}

/* With fnmatch(3) this takes longer than anybody lives. */
TEST(stars_do_not_multiply)
{
    char pattern[256] = "", path[256] = "";
    uint64_t budget = 4 * sizeof(pattern) * sizeof(path);

    for (size_t i = 0; i < 254; i += 2)
        memcpy(pattern + i, "*a", 3);
    pattern[253] = 'b';
    memset(path, 'a', 254);
    assert_false(glob_match(pattern, path, &budget));
    assert_true(budget > 0);
    path[254] = 'b';
    assert_true(glob_match(pattern, path, &budget));
}

TEST(directories_do_not_multiply)
{
    char pattern[256] = "", path[4096] = "";
    uint64_t budget = 4 * sizeof(pattern) * sizeof(path);

    for (size_t i = 0; i < 250; i += 5)
        memcpy(pattern + i, "**/a/", 6);
    for (size_t i = 0; i < 4000; i += 2)
        memcpy(path + i, "a/", 3);
    pattern[250] = 'b';
    path[4000] = 'c';
    assert_false(glob_match(pattern, path, &budget));
    assert_true(budget > 0);
}

TEST(a_spent_budget_is_no_match)
{
    uint64_t budget = 3;

    assert_false(glob_match("*aaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaaa", &budget));
    assert_int_equal(budget, 0);
    assert_false(glob_match("a", "a", &budget));
    assert_int_equal(budget, 0);
}

UNIT_MAIN()
