#include "unit.h"

#include <stdio.h>

#include "base/diff.h"
#include "base/hidden_mark.h"
#include "base/limits.h"

static struct span text(const char *s)
{
    return (struct span){s, strlen(s)};
}

static void expect(const char *old, const char *new, const char *wanted)
{
    struct diff_count count;
    struct buf out;

    buf_init(&out, MIB);
    assert_int_equal(diff_unified(text(old), text(new), &out, &count, NULL), 0);
    assert_string_equal(buf_str(&out), wanted);
    assert_false(count.is_cut);
    buf_done(&out);
}

TEST(equal_texts_have_no_hunks)
{
    expect("", "", "");
    expect("a\nb\n", "a\nb\n", "");
}

TEST(a_changed_line_stands_between_three_of_context)
{
    expect("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n",
           "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n");
}

TEST(created_and_deleted_texts_begin_at_zero)
{
    expect("", "a\n", "@@ -0,0 +1,1 @@\n+a\n");
    expect("a\n", "", "@@ -1,1 +0,0 @@\n-a\n");
}

TEST(a_missing_newline_is_said)
{
    expect("a\n", "a", "@@ -1,1 +1,1 @@\n-a\n+a\n\\ No newline at end of file\n");
}

TEST(changes_far_apart_are_two_hunks)
{
    expect("a\n1\n2\n3\n4\n5\n6\n7\nb\n", "A\n1\n2\n3\n4\n5\n6\n7\nB\n",
           "@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-b\n+B\n");
}

TEST(lines_that_stayed_are_found)
{
    struct diff_count count;

    assert_int_equal(
        diff_unified(text("a\nb\nc\na\nb\nb\na\n"), text("c\nb\na\nb\na\nc\n"), NULL, &count, NULL),
        0);
    assert_int_equal(count.added + count.removed, 5); /* Myers' own example */
}

/* Thousands of lines with nothing in common, which nobody searches for what is there. */
TEST(strangers_are_replaced_as_a_whole)
{
    static char old[200000], new[200000];
    struct diff_count count;
    size_t a = 0, b = 0;

    for (int i = 0; i < 20000; i++) {
        a += (size_t)snprintf(old + a, sizeof(old) - a, "o%d\n", i);
        b += (size_t)snprintf(new + b, sizeof(new) - b, "n%d\n", i);
    }
    assert_int_equal(diff_unified((struct span){old, a}, (struct span){new, b}, NULL, &count, NULL),
                     0);
    assert_int_equal(count.added, 20000);
    assert_int_equal(count.removed, 20000);
}

TEST(hunks_that_do_not_fit_are_left_out_whole)
{
    struct diff_count count;
    struct buf out;

    buf_init(&out, 45);
    assert_int_equal(diff_unified(text("a\n1\n2\n3\n4\n5\n6\n7\nb\n"),
                                  text("A\n1\n2\n3\n4\n5\n6\n7\nB\n"), &out, &count, NULL),
                     0);
    assert_true(count.is_cut);
    assert_int_equal(count.added, 2);
    assert_string_equal(buf_str(&out), "@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n");
    buf_done(&out);
}

TEST(only_text_is_text)
{
    assert_true(diff_is_text(text("")));
    assert_true(diff_is_text(text("gr\xc3\xbc\xc3\x9f\n")));
    assert_true(diff_is_text(text("\xff")));
    assert_true(diff_is_text(text("id #\x01\x01\x01\x01\x01\x01\xff\xff")));
    assert_false(diff_is_text((struct span){"a\0b", 3}));
    assert_true(diff_is_text(text("echo one\nid # \xff\n")));
}

TEST(marks_are_counted_and_nothing_else_may_differ)
{
    assert_int_equal(hidden_count(text("a secret b"), text("a secret b")), 0);
    assert_int_equal(hidden_count(text("a secret b"), text("a [6 bytes hidden] b")), 6);
    assert_int_equal(hidden_count(text("[6 bytes hidden]"), text("[6 bytes hidden]")), 0);
    assert_int_equal(hidden_count(text("a secret b"), text("a [7 bytes hidden] b")), -1);
    assert_int_equal(hidden_count(text("a secret b"), text("a [99 bytes hidden]")), -1);
    assert_int_equal(hidden_count(text("a secret b"), text("a [6 bytes hidden]")), -1);
    assert_int_equal(hidden_count(text("a secret b"), text("a [REDACTED] b")), -1);
    assert_int_equal(hidden_count(text(""), text("")), 0);
}

TEST(lines_that_look_alike_are_both_shown)
{
    const char *mark = "x [4 bytes hidden]\nb\n";
    const struct diff_shown shown = {text(mark), text(mark)};
    struct diff_count count;
    struct buf out;

    buf_init(&out, MIB);
    assert_int_equal(
        diff_unified_shown(text("x aaaa\nb\n"), text("x bbbb\nb\n"), &shown, &out, &count, NULL),
        0);
    assert_string_equal(buf_str(&out), "@@ -1,2 +1,2 @@\n-x [4 bytes hidden]\n+x [4 bytes "
                                       "hidden]\n b\n");
    assert_int_equal(count.added, 1);
    assert_int_equal(count.removed, 1);
    assert_int_equal(count.hidden, 8);
    assert_true(diff_unified_shown(text("x aaaa\nc\n"), text("y\n"), &shown, &out, &count, NULL) <
                0);
    buf_done(&out);
}

UNIT_MAIN()
