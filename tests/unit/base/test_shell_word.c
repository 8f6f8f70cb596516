#include "unit.h"

#include "base/cleanup.h"
#include "base/shell_word.h"

static void assert_word(const char *word, const char *expected)
{
    cleanup(buf_done) struct buf out = BUF_OF(1024);

    assert_int_equal(shell_word_add(word, &out, NULL), 0);
    assert_string_equal(buf_str(&out), expected);
}

TEST(plain_words_stay)
{
    assert_word("make", "make");
    assert_word("-C", "-C");
    assert_word("/usr/bin/a.b_c-d+e,f:g@h%", "/usr/bin/a.b_c-d+e,f:g@h%");
}

TEST(what_a_shell_would_read_is_quoted)
{
    assert_word("", "''");
    assert_word("a b", "'a b'");
    assert_word("$HOME`x`*?[~#&;|<>(){}!\"\\", "'$HOME`x`*?[~#&;|<>(){}!\"\\'");
    assert_word("A=b", "'A=b'");
    assert_word("~", "'~'");
    assert_word("a\nb", "'a\nb'");
    assert_word("é", "'é'");
}

TEST(a_quote_ends_and_begins_the_quotation)
{
    assert_word("it's", "'it'\\''s'");
    assert_word("'", "''\\'''");
    assert_word("''", "''\\'''\\'''");
}

TEST(a_word_that_does_not_fit_is_refused)
{
    cleanup(buf_done) struct buf out = BUF_OF(4);
    cleanup_error struct error err = {0};

    assert_true(shell_word_add("a b c", &out, &err) < 0);
}

UNIT_MAIN()
