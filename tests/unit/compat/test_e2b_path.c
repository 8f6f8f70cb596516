#include "unit.h"

#include "base/cleanup.h"
#include "compat/e2b_internal.h"

TEST(paths_are_read_from_the_home_directory)
{
    static const char *const good[][2] = {
        {"", ""},
        {".", ""},
        {"~", ""},
        {"~/", ""},
        {"/home/user", ""},
        {"/home/user/", ""},
        {"/workspace", ""},
        {"a", "a"},
        {"a//b/", "a/b"},
        {"~/a", "a"},
        {"/home/user/a/b", "a/b"},
        {"/home/user//a", "a"},
        {"/workspace/a", "a"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        char path[PATH_MAX] = "?";

        assert_int_equal(e2b_path_read(good[i][0], path, NULL), 0);
        assert_string_equal(path, good[i][1]);
    }
}

TEST(paths_elsewhere_are_refused)
{
    static const char *const bad[] = {
        "/",
        "/etc/passwd",
        "/home",
        "/home/username",
        "/home/user2/a",
        "~other",
        "~other/a",
        "..",
        "../a",
        "a/../../b",
        "/home/user/../root",
        "/workspace/..",
        "/workspaces",
        "//etc",
    };

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        cleanup_error struct error err = {0};
        char path[PATH_MAX];

        assert_int_equal(e2b_path_read(bad[i], path, &err), -1);
        assert_true(err.code == E_DENIED || err.code == E_INVALID);
    }
}

TEST(paths_are_written_as_clients_know_them)
{
    cleanup(buf_done) struct buf out = BUF_OF(100);

    assert_int_equal(e2b_path_write("a/b", &out, NULL), 0);
    assert_string_equal(buf_str(&out), "/home/user/a/b");
    buf_clear(&out);
    assert_int_equal(e2b_path_write("", &out, NULL), 0);
    assert_string_equal(buf_str(&out), "/home/user");
}

UNIT_MAIN()
