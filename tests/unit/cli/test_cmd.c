#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/cmd.h"

static char seen[4096];
static int caught[2], saved = -1;

/* From here to release() stderr is caught. */
static void capture(void)
{
    saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
    assert_int_equal(pipe2(caught, O_CLOEXEC | O_NONBLOCK), 0);
    assert_int_equal(dup2(caught[1], STDERR_FILENO), STDERR_FILENO);
}

static void release(void)
{
    ssize_t n;

    assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
    n = read(caught[0], seen, sizeof(seen) - 1);
    seen[n > 0 ? n : 0] = '\0';
    (void)close(caught[0]);
    (void)close(caught[1]);
    (void)close(saved);
}

static int fail_with(enum error_code code, const char *message, const char *hint,
                     int (*tell)(struct error *err))
{
    struct error err = {0};
    int exit_code;

    error_set(&err, code, "%s", message);
    if (hint)
        error_hint(&err, "%s", hint);
    capture();
    exit_code = tell(&err);
    release();
    assert_null(err.message);
    return exit_code;
}

TEST(a_failure_is_one_line_and_a_hint)
{
    assert_int_equal(fail_with(E_NOT_FOUND, "no file `x`", "make one", cmd_fail), 66);
    assert_string_equal(seen, "belljar: no file `x`\nhint: make one\n");
    assert_int_equal(fail_with(E_INVALID, "bad", NULL, cmd_fail), 64);
    assert_string_equal(seen, "belljar: bad\n");
}

TEST(strangers_bytes_in_a_message_are_made_visible)
{
    (void)fail_with(E_NOT_FOUND, "no file `\033[2J\n\xff`", NULL, cmd_fail);
    assert_string_equal(seen, "belljar: no file `\\x1b[2J\\n\\xff`\n");
}

TEST(run_keeps_125_for_failures_of_ours)
{
    assert_int_equal(fail_with(E_SYSTEM, "x", NULL, cmd_fail_run), 125);
    assert_int_equal(fail_with(E_INTERNAL, "x", NULL, cmd_fail_run), 125);
    assert_int_equal(fail_with(E_PROTOCOL, "x", NULL, cmd_fail_run), 125);
    assert_int_equal(fail_with(E_UNSUPPORTED, "x", NULL, cmd_fail_run), 125);
    assert_int_equal(fail_with(E_INVALID, "x", NULL, cmd_fail_run), 64);
    assert_int_equal(fail_with(E_NOT_FOUND, "x", NULL, cmd_fail_run), 66);
    assert_int_equal(fail_with(E_TOO_LARGE, "x", NULL, cmd_fail_run), 65);
    assert_int_equal(fail_with(E_DENIED, "x", NULL, cmd_fail_run), 77);
    assert_int_equal(fail_with(E_BUSY, "x", NULL, cmd_fail_run), 75);
}

/* One wrong argument through cmd_getopt(). */
static int bad_option(const char *arg)
{
    static const struct option options[] = {
        {"timeout", required_argument, NULL, 256},
        {"json", no_argument, NULL, 'j'},
        {0},
    };
    char text[64];
    char *argv[] = {(char *)"run", text, NULL};
    int answer, exit_code;

    (void)snprintf(text, sizeof(text), "%s", arg);
    opterr = 0;
    optind = 0;
    answer = cmd_getopt(2, argv, ":c:j", options, NULL);
    assert_true(answer == '?' || answer == ':');
    capture();
    exit_code = cmd_bad_option("run", answer, argv, options);
    release();
    return exit_code;
}

TEST(a_wrong_option_gets_one_precise_line)
{
    static const struct {
        const char *arg;
        const char *words;
    } cases[] = {
        {"--tiemout=5", "belljar: unknown option `--tiemout`\nhint: did you mean `--timeout`?\n"},
        {"--frobnicate",
         "belljar: unknown option `--frobnicate`\nhint: `belljar run --help` lists the options\n"},
        {"-x", "belljar: unknown option `-x`\nhint: `belljar run --help` lists the options\n"},
        {"--timeout", "belljar: option `--timeout` needs a value\n"},
        {"-c", "belljar: option `-c` needs a value\n"},
        {"--json=1", "belljar: option `--json` takes no value\n"},
        {"--t=5", "belljar: unknown option `--t`\nhint: did you mean `--timeout`?\n"},
        {"--timeou", "belljar: unknown option `--timeou`\nhint: did you mean `--timeout`?\n"},
        {"--jso", "belljar: unknown option `--jso`\nhint: did you mean `--json`?\n"},
        {"--jso=1", "belljar: unknown option `--jso`\nhint: did you mean `--json`?\n"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(bad_option(cases[i].arg), 64);
        assert_string_equal(seen, cases[i].words);
    }
}

/* The answers of cmd_getopt() to these words, one character each; '.' ends it. */
static const char *read_words(const char *letters, const char *const *words)
{
    static const struct option options[] = {
        {"timeout", required_argument, NULL, 't'},
        {"json", no_argument, NULL, 'j'},
        {0},
    };
    static char answers[16];
    char copies[8][32], *argv[9] = {(char *)"run"};
    int argc = 1, answer;
    size_t n = 0;

    for (; words[argc - 1] && argc < 8; argc++) {
        (void)snprintf(copies[argc], sizeof(copies[argc]), "%s", words[argc - 1]);
        argv[argc] = copies[argc];
    }
    argv[argc] = NULL;
    opterr = 0;
    optind = 0;
    while ((answer = cmd_getopt(argc, argv, letters, options, NULL)) >= 0 && n < 14)
        answers[n++] = (char)answer;
    answers[n++] = '.';
    answers[n] = '\0';
    return answers;
}

TEST(options_are_spelled_in_full)
{
    static const struct {
        const char *words[5];
        const char *answers;
    } cases[] = {
        {{"--timeout", "5", "--json"}, "tj."},
        {{"--timeout=5", "--json"}, "tj."},
        {{"--timeo", "5", "--json"}, "?j."},
        {{"--timeo=5", "--json"}, "?j."},
        {{"--js"}, "?."},
        {{"--timeout", "--js", "--json"}, "tj."}, /* a value that looks like an option */
        {{"--timeout", "--timeo"}, "t."},
        {{"-j", "--timeout", "5"}, "jt."},
        {{"file", "--json"}, "j."},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(read_words(":j", cases[i].words), cases[i].answers);
}

TEST(a_program_ends_the_options)
{
    assert_string_equal(read_words("+:j", (const char *[]){"--json", "file", "--json", NULL}),
                        "j.");
    assert_string_equal(read_words("+:j", (const char *[]){"-", "--json", NULL}), ".");
    assert_string_equal(read_words("+:j", (const char *[]){"--", "--json", NULL}), ".");
}

TEST(a_wrong_argument_is_named)
{
    int exit_code;

    capture();
    exit_code = cmd_bad_argument("version", "x");
    release();
    assert_int_equal(exit_code, 64);
    assert_string_equal(seen, "belljar: `belljar version` does not take `x`\n"
                              "hint: `belljar version --help` shows the usage\n");
}

UNIT_MAIN()
