#include "unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/terminal_text.h"

/* Feeds `text` in pieces of every size: where a sequence is cut must not matter. */
static void expect(const char *text, size_t len, bool has_color, const char *expected)
{
    for (size_t piece = 1; piece <= len; piece++) {
        struct terminal terminal;
        struct error err = {0};
        struct buf out;

        buf_init(&out, 10000);
        terminal_begin(&terminal, has_color);
        for (size_t at = 0; at < len; at += piece)
            assert_int_equal(terminal_feed(&terminal, text + at,
                                           len - at < piece ? len - at : piece, &out, &err),
                             0);
        assert_int_equal(terminal_finish(&terminal, &out, &err), 0);
        assert_string_equal(buf_str(&out), expected);
        buf_done(&out);
    }
}

#define EXPECT(text, has_color, expected) expect(text, sizeof(text) - 1, has_color, expected)

TEST(text_newlines_and_tabs_pass)
{
    EXPECT("plain\ttext\nüñí…😀\n", true, "plain\ttext\nüñí…😀\n");
}

TEST(sequences_are_made_visible)
{
    EXPECT("\033]0;title\007", true, "\\x1b]0;title\\x07");
    EXPECT("a\033[2Jb", true, "a\\x1b[2Jb");
    EXPECT("\033[6n", true, "\\x1b[6n");
    EXPECT("\033P+q\033\\", true, "\\x1bP+q\\x1b\\");
    EXPECT("x\b\b\x7f", true, "x\\x08\\x08\\x7f");
    EXPECT("a\0b", true, "a\\x00b");
}

TEST(c1_controls_and_stray_bytes_are_made_visible)
{
    EXPECT("\xc2\x9b"
           "2J",
           true, "\\xc2\\x9b2J");
    EXPECT("\x9b"
           "2J",
           true, "\\x9b2J");
    EXPECT("a\xff\xfe", true, "a\\xff\\xfe");
    EXPECT("cut \xe2\x80", true, "cut \\xe2\\x80");
    EXPECT("\xe2\x80z", true, "\\xe2\\x80z");
}

TEST(marks_of_direction_are_made_visible)
{
    EXPECT("a\u202eb\u2066c\u200fd", true, "a\\xe2\\x80\\xaeb\\xe2\\x81\\xa6c\\xe2\\x80\\x8fd");
}

TEST(plain_colours_pass_and_are_switched_off)
{
    EXPECT("\033[1;31mred\033[0m.", true, "\033[1;31mred\033[0m.");
    EXPECT("\033[1;31mred\033[m.", true, "\033[1;31mred\033[m.");
    EXPECT("\033[31mleft on", true, "\033[31mleft on\033[0m");
    EXPECT("\033[31mred", false, "\\x1b[31mred");
}

TEST(what_only_looks_like_a_colour_does_not_pass)
{
    EXPECT("\033[31", true, "\\x1b[31");
    EXPECT("\033[", true, "\\x1b[");
    EXPECT("\033", true, "\\x1b");
    EXPECT("\033[?25m", true, "\\x1b[?25m");
    EXPECT("\033\033[0m", true, "\\x1b\033[0m");
    EXPECT("\033[111111111111111111111111111111111111m", true,
           "\\x1b[111111111111111111111111111111111111m");
}

TEST(a_carriage_return_passes_only_before_a_newline)
{
    EXPECT("one\r\ntwo\r\n", true, "one\ntwo\n");
    EXPECT("secret\rfake  ", true, "secret\\rfake  ");
    EXPECT("end\r", true, "end\\r");
    EXPECT("\r\r\n", true, "\\r\n");
}

TEST(a_line_stays_one_line)
{
    struct error err = {0};
    struct buf out;

    buf_init(&out, 1000);
    assert_int_equal(terminal_line("a\nb\tc\r\nd\033[31m\xc3", 13, &out, &err), 0);
    assert_string_equal(buf_str(&out), "a\\nb\\tc\\r\\nd\\x1b[31m");
    buf_clear(&out);
    assert_int_equal(terminal_line("x\xc3", 2, &out, &err), 0);
    assert_string_equal(buf_str(&out), "x\\xc3");
    buf_done(&out);
}

TEST(what_is_to_be_approved_hides_nothing)
{
    struct buf out;

    buf_init(&out, 1000);
    assert_int_equal(terminal_line("a\u200bb", 5, &out, NULL), 0);
    assert_string_equal(buf_str(&out), "a\u200bb");
    buf_clear(&out);
    assert_int_equal(terminal_exact_line("a\u200bb\tc\u202e", 10, &out, NULL), 0);
    assert_string_equal(buf_str(&out), "a\\xe2\\x80\\x8bb\\tc\\xe2\\x80\\xae");
    buf_clear(&out);
    assert_int_equal(terminal_exact("+a\t\u2060\n-b\033[31m\n", 15, &out, NULL), 0);
    assert_string_equal(buf_str(&out), "+a\t\\xe2\\x81\\xa0\n-b\\x1b[31m\n");
    buf_done(&out);
}

TEST(the_ceiling_of_the_buffer_is_an_error)
{
    struct terminal terminal;
    struct error err = {0};
    struct buf out;

    buf_init(&out, 5);
    terminal_begin(&terminal, true);
    assert_true(terminal_feed(&terminal, "\1\2", 2, &out, &err) < 0);
    assert_error(&err, E_TOO_LARGE, "more than 5 bytes");
    buf_done(&out);
}

TEST(colour_is_for_terminals_without_no_color)
{
    int file = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

    (void)setenv("TERM", "xterm", 1);
    (void)unsetenv("NO_COLOR");
    assert_false(terminal_has_color(file, "auto"));
    assert_true(terminal_has_color(file, "always"));
    assert_true(terminal >= 0);
    assert_true(terminal_has_color(terminal, "auto"));
    assert_false(terminal_has_color(terminal, "never"));
    (void)setenv("NO_COLOR", "", 1);
    assert_true(terminal_has_color(terminal, "auto"));
    (void)setenv("NO_COLOR", "1", 1);
    assert_false(terminal_has_color(terminal, "auto"));
    (void)unsetenv("NO_COLOR");
    (void)setenv("TERM", "dumb", 1);
    assert_false(terminal_has_color(terminal, "auto"));
    (void)close(terminal);
    (void)close(file);
}

static void assert_live(const char *text, const char *want, bool has_color)
{
    for (size_t piece = 1; piece <= strlen(text) + 1; piece++) {
        struct terminal terminal;
        struct buf out;

        buf_init(&out, 1000);
        terminal_begin(&terminal, has_color);
        terminal.is_live = true;
        for (size_t at = 0; at < strlen(text); at += piece)
            assert_int_equal(terminal_feed(&terminal, text + at,
                                           strlen(text) - at < piece ? strlen(text) - at : piece,
                                           &out, NULL),
                             0);
        assert_int_equal(terminal_finish(&terminal, &out, NULL), 0);
        assert_string_equal(buf_str(&out), want);
        buf_done(&out);
    }
}

TEST(a_program_may_draw_its_own_line_again)
{
    assert_live("\r 10%\r 20%\r\n", "\r 10%\r 20%\n", true);
    assert_live("ab\b\bc\033[K\033[0K\033[1K\033[2K", "ab\b\bc\033[K\033[0K\033[1K\033[2K", true);
    assert_live("\033[31mred\033[0m", "\033[31mred\033[0m", true);
    assert_live("\033[31mred\033[0m", "red", false);
    assert_live("\033[38;5;8mgrey\033[m", "\033[38;5;8mgrey\033[m", true);
}

TEST(text_in_the_colour_of_its_background_is_shown)
{
    assert_live("\033[30;40mhidden", "hidden", true);
    assert_live("\033[31m\033[41mhidden\033[0m", "\033[31mhidden\033[0m", true);
    assert_live("\033[97;48;5;15mhidden", "hidden", true);
    assert_live("\033[38;2;1;2;3;48;2;4;5;6mhidden", "hidden", true);
    assert_live("\033[38;5;16m\033[48;2;0;0;9mhidden\033[m", "\033[38;5;16mhidden\033[m", true);
    assert_live("\033[38;5;232;48;5;233mhidden", "hidden", true);
    assert_live("\033[30;40;49mshown\033[m", "\033[30;40;49mshown\033[m", true);
    assert_live("\033[31;40mshown\033[m\033[41m \033[m", "\033[31;40mshown\033[m\033[41m \033[m",
                true);
    assert_live("\033[8;28mshown\033[m", "\033[8;28mshown\033[m", true);
    assert_live("\033[30m\033[0m\033[40mshown\033[m", "\033[30m\033[0m\033[40mshown\033[m", true);
}

TEST(what_leaves_the_line_or_hides_text_is_not_passed_on)
{
    assert_live("\033[8mhidden", "hidden", true);
    assert_live("\033[1;8mhidden", "hidden", true);
    assert_live("\033[38;5;38;8mhidden", "hidden", true);
    assert_live("\033[38;2;1;2;3;008mhidden", "hidden", true);
    assert_live("\033[A", "\\x1b[A", true);
    assert_live("\033[2J", "\\x1b[2J", true);
    assert_live("\033[3K", "\\x1b[3K", true);
    assert_live("\033]0;t\a", "\\x1b]0;t\\x07", true);
    assert_live("\033[6n", "\\x1b[6n", true);
    assert_live("\v\f\033M", "\\x0b\\x0c\\x1bM", true);
}

UNIT_MAIN()
