#include "sandbox/workspace.h"

/* --- paths --- */

TEST(paths_are_brought_into_one_form)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"a", "a"},
        {"a/b", "a/b"},
        {"./a//b/./c/", "a/b/c"},
        {"", ""},
        {".", ""},
        {"./", ""},
        {"...", "..."},
        {"..a/b..", "..a/b.."},
        {"a\nb", "a\nb"},
        {"\xff", "\xff"},
        {"/workspace", ""},
        {"/workspace//a", "a"},
        {"/home/user/a/b", "a/b"},
        {"/home/user/", ""},
    };
    struct error err = {0};
    char path[PATH_MAX];

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(files_path_check(cases[i].in, strlen(cases[i].in), path, &err), 0);
        assert_string_equal(path, cases[i].out);
    }
}

TEST(paths_that_are_none_are_refused)
{
    static const struct {
        const char *in;
        size_t len;
        const char *why;
    } cases[] = {
        {"/etc/passwd", 11, "absolute"},
        {"/", 1, "absolute"},
        {"/workspaces", 11, "absolute"},
        {"/home/user2/a", 13, "absolute"},
        {"//workspace/a", 13, "absolute"},
        {"/home/user/../a", 15, "`..`"},
        {"/workspace/\0", 12, "NUL"},
        {"..", 2, "`..`"},
        {"a/../b", 6, "`..`"},
        {"a/..", 4, "`..`"},
        {"a\0b", 3, "NUL"},
        {"\0", 1, "NUL"},
    };
    struct error err = {0};
    char path[PATH_MAX], longer[2 * PATH_MAX];

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(files_path_check(cases[i].in, cases[i].len, path, &err), -1);
        assert_error(&err, E_INVALID, cases[i].why);
    }
    memset(longer, 'a', sizeof(longer));
    assert_int_equal(files_path_check(longer, 255, path, &err), 0);
    assert_int_equal(files_path_check(longer, 256, path, &err), -1);
    assert_error(&err, E_INVALID, "255");
    for (size_t i = 1; i < sizeof(longer); i += 2)
        longer[i] = '/';
    assert_int_equal(files_path_check(longer, PATH_MAX - 1, path, &err), 0);
    assert_int_equal(files_path_check(longer, sizeof(longer), path, &err), -1);
    assert_error(&err, E_INVALID, "too long");
}

TEST(a_path_in_tmp_stays_absolute)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"/tmp", "/tmp"},         {"/tmp/", "/tmp"},         {"/tmp//a/./b/", "/tmp/a/b"},
        {"tmp/a", "tmp/a"},       {"/workspace/tmp", "tmp"}, {"/home/user/a", "a"},
        {"/tmp/tmp", "/tmp/tmp"},
    };
    static const char *const bad[] = {
        "/tmpx", "/tmp/..", "/tmp/../etc/passwd", "/tmp/a/../b", "//tmp/a", "/tm", "/etc/tmp",
    };
    char path[PATH_MAX], longer[2 * PATH_MAX] = "/tmp/";
    struct error err = {0};

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(files_path_check_tmp(cases[i].in, strlen(cases[i].in), path, &err), 0);
        assert_string_equal(path, cases[i].out);
    }
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        assert_int_equal(files_path_check_tmp(bad[i], strlen(bad[i]), path, &err), -1);
        assert_int_equal(err.code, E_INVALID);
        error_done(&err);
    }
    assert_int_equal(files_path_check_tmp("/tmp/a\0b", 8, path, &err), -1);
    assert_error(&err, E_INVALID, "NUL");
    assert_int_equal(files_path_check("/tmp/a", 6, path, &err), -1);
    assert_error(&err, E_INVALID, "absolute");
    for (size_t i = 5; i < sizeof(longer); i++)
        longer[i] = i % 2 ? 'a' : '/';
    assert_int_equal(files_path_check_tmp(longer, PATH_MAX - 2, path, &err), 0);
    assert_int_equal(strlen(path), PATH_MAX - 2);
    assert_int_equal(files_path_check_tmp(longer, sizeof(longer), path, &err), -1);
    assert_error(&err, E_INVALID, "too long");
    assert_true(files_path_is_tmp("/tmp") && files_path_is_tmp("/tmp/a"));
    assert_false(files_path_is_tmp("/tmpa") || files_path_is_tmp("tmp/a") || files_path_is_tmp(""));
}

TEST(odd_names_are_shown_escaped)
{
    struct buf out;

    buf_init(&out, 1000);
    assert_int_equal(files_path_escape("a\nb\xff\\n\x1b[0m/\xc3\xa4\x7f\xc2\x9b", &out, NULL), 0);
    assert_string_equal(buf_str(&out), "a\\x0ab\\xff\\x5cn\\x1b[0m/\xc3\xa4\\x7f\\xc2\\x9b");
    buf_clear(&out);
    assert_int_equal(files_path_escape("a\u200d", &out, NULL), 0);
    assert_int_equal(files_path_reveal("b\u200d\xc3\xa4\n", &out, NULL), 0);
    assert_string_equal(buf_str(&out), "a\u200db\\xe2\\x80\\x8d\xc3\xa4\\x0a");
    buf_done(&out);
}

UNIT_MAIN()
