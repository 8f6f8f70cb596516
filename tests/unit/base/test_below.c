/* paths_below() of base/paths.h; tests/unit/base/test_paths.c starts itself again. */
#include "base/paths.h"

#include "unit.h"

TEST(the_rest_is_behind_the_directory)
{
    static const struct {
        const char *path, *dir, *rest; /* NULL: not below */
    } cases[] = {
        {"/home/a", "/home/a", ""},        {"/home/a/b", "/home/a", "b"},
        {"/home/a/b/c", "/home/a", "b/c"}, {"/home/ab", "/home/a", NULL},
        {"/home", "/home/a", NULL},        {"/home/a", "/home/a/", ""},
        {"/home/a/b", "/home/a/", "b"},    {"/home/ab", "/home/a/", NULL},
        {"/home/a/", "/home/a", ""},       {"/", "/", ""},
        {"/etc/x", "/", "etc/x"},          {"/etc", "/etcetera", NULL},
        {"/home/a//b", "/home/a", "b"},    {"/HOME/a/b", "/home/a", NULL},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *rest = paths_below(cases[i].path, cases[i].dir);

        if (!cases[i].rest)
            assert_null(rest);
        else
            assert_string_equal(rest, cases[i].rest);
    }
}

UNIT_MAIN()
