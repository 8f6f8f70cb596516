#include "unit.h"

#include <locale.h>
#include <stdio.h>

#include "terminal/line.h"

static struct line line;

static void begin(const char *text)
{
    (void)setlocale(LC_CTYPE, "C.UTF-8");
    line_init(&line, 4096);
    line_set(&line, text);
}

/* The text with a bar where the cursor is. */
static void assert_line(const char *expected)
{
    char shown[4096];

    (void)snprintf(shown, sizeof(shown), "%.*s|%s", (int)line.cursor, buf_str(&line.text),
                   buf_str(&line.text) + line.cursor);
    assert_string_equal(shown, expected);
}

static void type(const char *text)
{
    for (; *text; text++)
        assert_true(line_type(&line, text, 1));
}

TEST(characters_and_what_stands_on_them_are_one)
{
    begin("ae\xcc\x81漢b");
    assert_true(line_left(&line));
    assert_true(line_left(&line));
    assert_line("ae\xcc\x81|漢b");
    assert_true(line_backspace(&line));
    assert_line("a|漢b");
    assert_true(line_delete(&line));
    assert_line("a|b");
    line_done(&line);
}

TEST(words_and_lines)
{
    begin("one two.three\n  four");
    assert_true(line_word_left(&line));
    assert_line("one two.three\n  |four");
    assert_true(line_word_left(&line));
    assert_line("one two.|three\n  four");
    line_home(&line);
    assert_line("|one two.three\n  four");
    assert_true(line_word_right(&line));
    assert_line("one| two.three\n  four");
    assert_true(line_down(&line));
    assert_line("one two.three\n  f|our");
    assert_false(line_down(&line));
    assert_true(line_up(&line));
    assert_line("one| two.three\n  four");
    assert_false(line_up(&line));
    line_end(&line);
    assert_line("one two.three|\n  four");
    line_done(&line);
}

TEST(what_is_cut_comes_back)
{
    begin("a = b.c d");
    line_cut_space_word_left(&line);
    assert_line("a = b.c |");
    line_cut_space_word_left(&line);
    assert_line("a = |");
    line_paste(&line);
    assert_line("a = b.c |");
    line_cut_to_home(&line);
    assert_line("|");
    line_paste(&line);
    line_home(&line);
    line_cut_word_right(&line);
    assert_line("| = b.c ");
    line_cut_to_end(&line);
    assert_line("|");
    line_done(&line);
}

TEST(changes_are_undone_one_by_one_and_typing_as_a_whole)
{
    begin("");
    type("abc");
    line_cut_to_home(&line);
    assert_true(line_undo(&line));
    assert_line("abc|");
    assert_true(line_undo(&line));
    assert_line("|");
    line_done(&line);
}

TEST(a_block_is_indented)
{
    begin("for i in x:");
    line_break(&line, true, true);
    assert_line("for i in x:\n    |");
    type("f(");
    line_break(&line, true, true);
    assert_line("for i in x:\n    f(\n        |");
    type("1)");
    line_break(&line, true, true);
    assert_line("for i in x:\n    f(\n        1)\n        |");
    assert_true(line_backspace(&line));
    assert_line("for i in x:\n    f(\n        1)\n    |");
    type("pass");
    line_break(&line, true, true);
    assert_line("for i in x:\n    f(\n        1)\n    pass\n|");
    line_done(&line);
}

/* People who indent by themselves are not indented twice. */
TEST(typed_indentation_is_not_added_to_ours)
{
    begin("if x:");
    line_break(&line, true, true);
    type("    y");
    assert_line("if x:\n    y|");
    line_break(&line, true, true);
    type("        z");
    assert_line("if x:\n    y\n        z|");
    line_done(&line);
}

TEST(tab_and_its_opposite)
{
    begin("x\n  y");
    line_home(&line);
    line_indent(&line);
    assert_line("x\n    |  y");
    line_unindent(&line);
    line_unindent(&line);
    assert_line("x\n|y");
    line_done(&line);
}

TEST(what_is_too_long_is_not_taken)
{
    begin("");
    for (size_t i = 0; i < 4096 && line_type(&line, "x", 1); i++)
        ;
    assert_false(line_type(&line, "x", 1));
    assert_true(line.text.len <= 4096 && line.cursor == line.text.len);
    line_done(&line);
}

UNIT_MAIN()
