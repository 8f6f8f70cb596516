#include "unit.h"

#include "base/name.h"

TEST(plain_names_are_names)
{
    static const char *const good[] = {"a", "9", "A-b_c", "x1"};

    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        assert_true(name_is_plain(good[i], 8, false));
        assert_true(name_is_plain(good[i], 8, true));
    }
    assert_true(name_is_plain("a.b..c", 8, true));
    assert_false(name_is_plain("a.b", 8, false));
}

/* Names that a path, a URL, a shell or a terminal would read as something else. */
TEST(everything_else_is_none)
{
    static const char *const bad[] = {"",    ".",   "..",       "...",   ".a",      "-a",   "_a",
                                      "a/b", "a b", "a\n",      "a%2e",  "a:b",     "a\\b", "a?b",
                                      "a#b", "~",   "\xc3\xa4", "a\x7f", "a\x1b[m", "*",    "$a"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_false(name_is_plain(bad[i], 64, true));
    assert_true(name_is_plain("12345678", 8, true));
    assert_false(name_is_plain("123456789", 8, true));
}

UNIT_MAIN()
