#include "unit.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/terminal_screen.h"

static int pass(const char *text, size_t step, struct buf *out)
{
    struct terminal_screen screen = {0};
    size_t len = strlen(text);

    for (size_t i = 0; i < len; i += step)
        assert_int_equal(
            terminal_screen_feed(&screen, text + i, len - i < step ? len - i : step, out, NULL), 0);
    assert_int_equal(buf_add_str(out, "|", NULL), 0);
    return terminal_screen_finish(&screen, out, NULL);
}

/* However it is cut. `expected` has a bar where the program ended; the newline after a line that
 * has none is not in it. */
static void assert_screen(const char *text, const char *expected)
{
    for (size_t step = 1; step <= 8; step++) {
        cleanup(buf_done) struct buf out = BUF_OF(65536);

        (void)pass(text, step, &out);
        if (strlen(expected) + 2 == out.len)
            assert_string_equal(buf_str(&out) + out.len - 2, "\r\n");
        else
            assert_int_equal(out.len, strlen(expected));
        assert_memory_equal(buf_str(&out), expected, strlen(expected));
    }
}

TEST(text_and_drawing_pass)
{
    assert_screen("abc\r\n\tä日😀\b\a", "abc\r\n\tä日😀\b\a|");
    assert_screen("\033[2J\033[H\033[10;20Hx\033[A\033[3B\033[K\033[1K\033[5X\033[2@",
                  "\033[2J\033[H\033[10;20Hx\033[A\033[3B\033[K\033[1K\033[5X\033[2@|");
    assert_screen("\0337\0338\033M\033D\033E", "\0337\0338\033M\033D\033E|");
}

TEST(what_was_changed_is_undone)
{
    assert_screen("\033[1;31mx", "\033[1;31mx|\033[0m");
    /* Saved with the cursor, they can come back after they were reset. */
    assert_screen("\033[8m\0337\033[m\0338x", "\033[8m\0337\033[m\0338x|\033[0m");
    assert_screen("\033[?6h\0337\033[?6l\0338", "\033[?6h\0337\033[?6l\0338|\033[?6l");
    assert_screen("\033[?1049h\033[?25l", "\033[?1049h\033[?25l|\033[?1049l\033[?25h");
    assert_screen("\033[?1049h\033[?1049l\033[?7h", "\033[?1049h\033[?1049l\033[?7h|");
    assert_screen("\033(0\016", "\033(0\016|\017\033(B\033)B");
    assert_screen("\033[2;5r\033=\033[4h\033[5 q",
                  "\033[2;5r\033=\033[4h\033[5 q|\0337\033[r\0338\033>\033[4l\033[0 q");
}

TEST(our_own_lines_begin_at_the_left)
{
    static const struct {
        const char *text, *end;
    } cases[] = {{"abc", "|\r\n"},
                 {"abc\r\n", "|"},
                 {"abc\r\033[K", "|"},
                 {"\033[?1049habc", "|\033[?1049l"},
                 {"\033[?1049habc\033[?1049l", "|"},
                 {"日", "|\r\n"},
                 {"\033[31mx", "|\033[0m\r\n"}};

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        cleanup(buf_done) struct buf out = BUF_OF(1024);

        (void)pass(cases[i].text, 3, &out);
        assert_string_equal(strchr(buf_str(&out), '|'), cases[i].end);
    }
}

TEST(of_several_modes_the_known_ones_pass)
{
    assert_screen("\033[?1000;9999;1006h", "\033[?1000h\033[?1006h|\033[?1000l\033[?1006l");
    assert_screen("\033[?3h\033[?1001h\033[?2026h\033[20h", "|");
}

TEST(reports_that_may_wait_are_told)
{
    cleanup(buf_done) struct buf out = BUF_OF(1024);

    assert_int_equal(pass("\033[?1003h", 1, &out), 1);
    assert_int_equal(pass("\033[?1003h\033[?1003l", 1, &out), 0);
    assert_int_equal(pass("\033[?1049h", 1, &out), 0);
}

TEST(questions_are_removed)
{
    static const char *const questions[] = {
        "\033[c",         "\033[0c",
        "\033[>c",        "\033[=c",
        "\033[5n",        "\033[6n",
        "\033[?6n",       "\033[?15n",
        "\033[x",         "\033[18t",
        "\033[21t",       "\033[?1$p",
        "\033[4$p",       "\033Z",
        "\005",           "\033[>q",
        "\033[?u",        "\033[>4;2m",
        "\033[?4m",       "\033[1;1;1;1;1;1*y",
        "\033P$qm\033\\", "\033P+q544e\033\\",
        "\033]11;?\a",    "\033]4;1;?\033\\",
        "\033]52;c;?\a",  "\033[1+t",
    };

    for (size_t i = 0; i < ARRAY_SIZE(questions); i++) {
        char text[64];

        (void)snprintf(text, sizeof(text), "a%sb", questions[i]);
        assert_screen(text, "ab|");
    }
}

TEST(strings_for_the_terminal_are_removed)
{
    assert_screen("a\033]0;title\ab", "ab|");
    assert_screen("a\033]52;c;cm0gLXJmIH4=\033\\b", "ab|");
    assert_screen("\033]8;;http://x\033\\link\033]8;;\033\\", "link|");
    assert_screen("a\033_Gpayload\033\\b\033^pm\033\\c\033Xsos\033\\d", "abcd|");
    assert_screen("a\033P1;2|17/ab\033\\b", "ab|");
    assert_screen("a\033]0;t\033[31mb", "a\033[31mb|\033[0m"); /* another sequence ends it */
    assert_screen("a\033]0;x\030b", "ab|");
    assert_screen("a\033]Rb\033]P1ff0000c", "abc|"); /* of the console of Linux */
}

TEST(other_commands_are_removed)
{
    assert_screen("\033[3J\033[22;0t\033[8;50;50t\033[4i\033[?5i\033[1;2;3;4;5T\033[3g\033H", "|");
    assert_screen("\033c\033n\033o\033N\033O\033#8\033%G\033%@\033 G\033l\033m", "|");
    assert_screen("\033[1;1s\033[=1u\033[>1u\033[1'z\033[\"p\033[61\"p", "|");
    assert_screen("\033[99999999A\033[1:2A\033[<1A\033[1;2;3H", "|");
}

TEST(characters_that_control_are_removed)
{
    assert_screen("a\001\002\013\014\021\023\177b", "ab|");
    assert_screen("a\xc2\x9b"
                  "31mb\xc2\x9d"
                  "c",
                  "a31mbc|"); /* eight-bit forms */
    assert_screen("a\x9b"
                  "31mb\xff",
                  "a\xef\xbf\xbd"
                  "31mb\xef\xbf\xbd|");
    assert_screen("a\u202eb\u2066c", "abc|");
    assert_screen("\xe6\x97"
                  "a",
                  "\xef\xbf\xbd"
                  "a|");
}

TEST(a_sequence_in_a_sequence_is_the_later_one)
{
    assert_screen("\033[3\033[4mx", "\033[4mx|\033[0m");
    assert_screen("\033[1\n2Ax", "\n2Ax|");
    assert_screen("\033\033[Ax", "\033[Ax|");
    assert_screen("\033[31\xc3\xa4x", "äx|");
}

TEST(what_is_too_long_is_removed)
{
    char text[4096];

    memset(text, ';', sizeof(text));
    memcpy(text, "\033[", 2);
    memcpy(text + sizeof(text) - 4, "mab", 4);
    assert_screen(text, "ab|");
}

TEST(a_string_without_an_end_ends)
{
    struct terminal_screen screen = {0};
    cleanup(buf_done) struct buf out = BUF_OF(4 << 20);
    static char text[2 << 20];

    memset(text, 'x', sizeof(text));
    assert_int_equal(terminal_screen_feed(&screen, "\033]", 2, &out, NULL), 0);
    assert_int_equal(terminal_screen_feed(&screen, text, sizeof(text), &out, NULL), 0);
    assert_true(out.len > 0 && out.len < sizeof(text));
}

UNIT_MAIN()
