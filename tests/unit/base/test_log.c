#include "unit.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/log.h"

static char seen[16384];

/* Runs `act` with stderr caught; what it wrote is in `seen`. */
static void catch_stderr(void (*act)(void))
{
    int fds[2], saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
    ssize_t n;

    assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
    assert_int_equal(dup2(fds[1], STDERR_FILENO), STDERR_FILENO);
    act();
    assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
    n = read(fds[0], seen, sizeof(seen) - 1);
    seen[n > 0 ? n : 0] = '\0';
    (void)close(fds[0]);
    (void)close(fds[1]);
    (void)close(saved);
}

static int setup(void **state)
{
    (void)state;
    log_setup("warning", false);
    return 0;
}

static void write_plain(void)
{
    struct error err = {0};

    error_set(&err, E_BUSY, "no room");
    log_warning("cannot do it", LOG_TEXT("run", "run_1"), LOG_NUMBER("ms", -5), LOG_ERROR(&err));
    error_done(&err);
}

static void a_line_is_level_message_and_fields(void **state)
{
    (void)state;
    catch_stderr(write_plain);
    assert_string_equal(seen, "warning cannot do it run=run_1 ms=-5 error=\"no room\"\n");
}

static void write_without_fields(void)
{
    log_error("stopping");
}

static void fields_are_optional(void **state)
{
    (void)state;
    catch_stderr(write_without_fields);
    assert_string_equal(seen, "error stopping\n");
}

static int evaluated;

static const char *costly(void)
{
    evaluated++;
    return "x";
}

static void write_levels(void)
{
    log_error("a");
    log_warning("b");
    log_info("c", LOG_TEXT("k", costly()));
    log_debug("d");
}

static void levels_that_are_off_cost_nothing_and_say_nothing(void **state)
{
    (void)state;
    evaluated = 0;
    catch_stderr(write_levels);
    assert_string_equal(seen, "error a\nwarning b\n");
    assert_int_equal(evaluated, 0);
    log_setup("info", false);
    catch_stderr(write_levels);
    assert_string_equal(seen, "error a\nwarning b\ninfo c k=x\n");
    log_setup("error", false);
    catch_stderr(write_levels);
    assert_string_equal(seen, "error a\n");
    log_setup("nonsense", false);
    catch_stderr(write_levels);
    assert_string_equal(seen, "error a\n");
    log_setup("debug", false);
    catch_stderr(write_levels);
    assert_string_equal(seen, "error a\nwarning b\ninfo c k=x\ndebug d\n");
}

static void write_hostile(void)
{
    log_error("m\nerror forged", LOG_TEXT("a", "x\ny"), LOG_TEXT("b", "say \"hi\\\" k=v"),
              LOG_TEXT("c", "\033[2J\xff\xc2\x9b"), LOG_TEXT("d", ""), LOG_TEXT("e", NULL),
              LOG_TEXT("f", "é"));
}

static void strangers_text_makes_no_lines_and_no_colours(void **state)
{
    (void)state;
    catch_stderr(write_hostile);
    assert_string_equal(seen, "error m\\nerror forged a=\"x\\ny\" b=\"say \\\"hi\\\\\\\" k=v\" "
                              "c=\"\\x1b[2J\\xff\\xc2\\x9b\" d=\"\" e=\"\" f=\"é\"\n");
}

static void write_long(void)
{
    char text[10000];

    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    log_error("long", LOG_TEXT("text", text), LOG_NUMBER("after", 1));
}

static void a_long_line_is_cut_and_says_so(void **state)
{
    (void)state;
    catch_stderr(write_long);
    assert_true(strlen(seen) <= 4096);
    assert_string_equal(seen + strlen(seen) - 4, "…\n");
    assert_int_equal(strcspn(seen, "\n"), strlen(seen) - 1);
}

static void colours_come_only_when_asked_for(void **state)
{
    (void)state;
    log_setup("warning", true);
    catch_stderr(write_without_fields);
    assert_string_equal(seen, "\033[31merror\033[0m stopping\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_line_is_level_message_and_fields, setup),
        cmocka_unit_test_setup(fields_are_optional, setup),
        cmocka_unit_test_setup(levels_that_are_off_cost_nothing_and_say_nothing, setup),
        cmocka_unit_test_setup(strangers_text_makes_no_lines_and_no_colours, setup),
        cmocka_unit_test_setup(a_long_line_is_cut_and_says_so, setup),
        cmocka_unit_test_setup(colours_come_only_when_asked_for, setup),
    };

    return UNIT_RUN(tests);
}
