#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <jansson.h>

#include "base/log.h"

static char text[65536];

/* The line that one event becomes. */
static const char *line_of(enum log_format format, enum log_level most, const char *value)
{
    int fds[2];
    ssize_t n;

    assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
    log_open(fds[1], format, most);
    LOG_EVENT(LOG_INFO, "run", {"key", value}, {"n", .number = 7}, {"x", .number = 0.5},
              {"gone", "x", .is_left_out = true});
    n = read(fds[0], text, sizeof(text) - 1);
    text[n > 0 ? n : 0] = '\0';
    log_close();
    (void)close(fds[0]);
    (void)close(fds[1]);
    return text;
}

TEST(words_stay_words_and_the_rest_is_quoted)
{
    assert_contains(line_of(LOG_TEXT, LOG_INFO, "abc-1.2"), "Z info run key=abc-1.2 n=7 x=0.500\n");
    assert_contains(line_of(LOG_TEXT, LOG_INFO, ""), " key=\"\" ");
    assert_contains(line_of(LOG_TEXT, LOG_INFO, "a b"), " key=\"a b\" ");
    assert_contains(line_of(LOG_TEXT, LOG_INFO, "a=b"), " key=\"a=b\" ");
    assert_contains(line_of(LOG_TEXT, LOG_INFO, "a\nb\x1b[1m"), " key=\"a\\u000ab\\u001b[1m\" ");
}

TEST(json_is_one_line_and_reads_back)
{
    static const char *const values[] = {"plain", "a\"b\\c\n\r\t\x7f", "\u00fc\u2028\U0001f600",
                                         ""};

    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        const char *line = line_of(LOG_JSON, LOG_INFO, values[i]);
        json_t *value = json_loads(line, 0, NULL);

        assert_non_null(value);
        assert_string_equal(json_string_value(json_object_get(value, "key")), values[i]);
        assert_string_equal(json_string_value(json_object_get(value, "event")), "run");
        assert_null(json_object_get(value, "gone"));
        assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
        for (const char *c = line; *c; c++)
            assert_true(*c == '\n' || (*c >= ' ' && *c < 0x7f));
        json_decref(value);
    }
    assert_contains(line_of(LOG_JSON, LOG_INFO, "\xff\xc3"), "\"key\":\"\\ufffd\\ufffd\"");
}

TEST(what_is_not_wanted_is_not_written)
{
    assert_string_equal(line_of(LOG_TEXT, LOG_WARNING, "x"), "");
    assert_false(log_has(LOG_ERROR)); /* it is closed */
}

TEST(a_full_pipe_loses_lines_and_says_how_many)
{
    int fds[2];
    ssize_t n;

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0); /* it would wait */
    log_open(fds[1], LOG_TEXT, LOG_INFO);
    for (int i = 0; i < 5000; i++)
        LOG_EVENT(LOG_INFO, "run", {"n", .number = i});
    n = read(fds[0], text, sizeof(text) - 1);
    assert_true(n > 30000);
    LOG_EVENT(LOG_INFO, "run", {"n", "last"});
    n = read(fds[0], text, sizeof(text) - 1);
    text[n > 0 ? n : 0] = '\0';
    assert_contains(text, " n=last lines_lost=");
    log_close();
    (void)close(fds[0]);
    (void)close(fds[1]);
}

UNIT_MAIN()
