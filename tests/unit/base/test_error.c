#include "unit.h"

#include <errno.h>

TEST(set_fills_code_and_message_and_returns_minus_one)
{
    struct error err = {0};

    assert_int_equal(error_set(&err, E_BUSY, "%d of %s", 3, "them"), -1);
    assert_int_equal(err.code, E_BUSY);
    assert_string_equal(err.message, "3 of them");
    assert_null(err.hint);
    assert_int_equal(err.errnum, 0);
    error_done(&err);
}

TEST(set_replaces_an_older_error_whole)
{
    struct error err = {0};

    error_set(&err, E_BUSY, "old");
    error_hint(&err, "old hint");
    error_set(&err, E_AUTH, "new");
    assert_string_equal(err.message, "new");
    assert_null(err.hint);
    error_done(&err);
}

TEST(errno_is_kept_and_worded)
{
    struct error err = {0};

    errno = ENOENT;
    assert_int_equal(error_errno(&err, "open %s", "x"), -ENOENT);
    assert_int_equal(err.code, E_SYSTEM);
    assert_int_equal(err.errnum, ENOENT);
    assert_string_equal(err.message, "open x: No such file or directory");
    error_done(&err);
}

TEST(wrap_keeps_the_code_and_adds_context)
{
    struct error err = {0};

    error_set(&err, E_TOO_LARGE, "more than 5 bytes");
    error_hint(&err, "send less");
    assert_int_equal(error_wrap(&err, "read %s", "f"), -1);
    assert_int_equal(err.code, E_TOO_LARGE);
    assert_string_equal(err.message, "read f: more than 5 bytes");
    assert_string_equal(err.hint, "send less");
    error_done(&err);
}

TEST(a_hint_replaces_the_one_before)
{
    struct error err = {0};

    error_set(&err, E_BUSY, "x");
    error_hint(&err, "one");
    error_hint(&err, "two");
    assert_string_equal(err.hint, "two");
    error_done(&err);
}

TEST(move_empties_the_source)
{
    struct error from = {0}, to = {0};

    error_set(&from, E_BUSY, "x");
    error_set(&to, E_AUTH, "y");
    error_move(&to, &from);
    assert_int_equal(to.code, E_BUSY);
    assert_string_equal(to.message, "x");
    assert_int_equal(from.code, E_NONE);
    assert_null(from.message);
    error_move(NULL, &to);
    assert_int_equal(to.code, E_NONE);
}

TEST(nobody_has_to_want_the_words)
{
    assert_int_equal(error_set(NULL, E_BUSY, "x"), -1);
    assert_int_equal(error_hint(NULL, "x"), -1);
    assert_int_equal(error_wrap(NULL, "x"), -1);
    errno = EPERM;
    assert_int_equal(error_errno(NULL, "x"), -EPERM);
    error_done(NULL);
}

TEST(every_code_has_its_row)
{
    assert_string_equal(error_code_name(E_INVALID), "invalid");
    assert_int_equal(error_code_http(E_INVALID), 400);
    assert_int_equal(error_code_exit(E_INVALID), 64);
    assert_int_equal(error_code_exit(E_NOT_FOUND), 66);
    assert_int_equal(error_code_http(E_BUSY), 429);
    assert_int_equal(error_code_exit(E_INTERNAL), 70);
    assert_int_equal(error_code_exit(E_NONE), 0);
}

UNIT_MAIN()
