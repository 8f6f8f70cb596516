#include "cli/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hint.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/suggest.h"
#include "base/terminal_text.h"
#include "cli/habits.h"
#include "mcp/tools.h"

#define OPTIONS_MAX 64
#define ACTIONS_MAX 16

/* A session's output escaped, and more. */
#define JSON_BYTES ((size_t)64 * MIB)

/* File names and values come from anywhere, so they are shown as they would be in a program's
 * output. */
static void print(const char *before, const char *text)
{
    cleanup(buf_done) struct buf line = BUF_OF(MIB);

    (void)terminal_line(text, strlen(text), &line, NULL);
    (void)fprintf(stderr, "%s%s\n", before, buf_str(&line));
}

/* Descriptors 0 to 2 that the caller has closed are taken, so that nothing we open gets their
 * numbers and is written to as if it were standard output. Each is opened the wrong way around:
 * using it fails, as with a closed one, and the failure is reported. */
static void fill_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            abort();
}

void cmd_prepare(void)
{
    fill_standard_descriptors();
    hint_know_tools(mcp_is_tool);
}

void cmd_note(void *user, const char *text)
{
    (void)user;
    print("belljar: ", text);
}

int cmd_print_json(const json_t *value, struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(JSON_BYTES);

    if (!value)
        return error_memory(err);
    if (json_text_dump(value, JSON_TEXT_PRETTY, &text, err) < 0)
        return -1;
    if (fwrite(buf_str(&text), 1, text.len, stdout) < text.len || fflush(stdout) < 0)
        return error_errno(err, "write the answer");
    return 0;
}

bool cmd_has_no_reader(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};

    return poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP));
}

int cmd_fail(struct error *err)
{
    int code = error_code_exit(err->code);
    cleanup_free char *hint = hint_text(HINT_FOR_CLI, err->hint);

    if (err->errnum == EPIPE && cmd_has_no_reader()) {
        error_done(err);
        return 128 + SIGPIPE;
    }
    print("belljar: ", error_message(err));
    if (hint)
        print("hint: ", hint);
    error_done(err);
    return code;
}

int cmd_fail_run(struct error *err)
{
    enum error_code code = err->code;
    int exit_code = cmd_fail(err);

    switch (code) {
    case E_SYSTEM:
    case E_INTERNAL:
    case E_PROTOCOL:
    case E_UNSUPPORTED:
        return CMD_EXIT_OWN;
    default:
        return exit_code;
    }
}

bool cmd_put(const struct cmd_place *places, size_t count, int answer)
{
    for (const struct cmd_place *p = places; p < places + count; p++) {
        if (p->answer != answer)
            continue;
        if (p->word)
            *p->word = optarg;
        if (p->flag)
            *p->flag = true;
        return true;
    }
    return false;
}

/* Whether `arg`, "--name" or "--name=value", spells the option's name in full. */
static bool is_spelled(const char *arg, const struct option *option)
{
    size_t len = strlen(option->name);

    return strncmp(arg, "--", 2) == 0 && strncmp(arg + 2, option->name, len) == 0 &&
           (arg[2 + len] == '\0' || arg[2 + len] == '=');
}

bool cmd_help_is_whole;

int cmd_getopt(int argc, char **argv, const char *letters, const struct option *options,
               int *ret_index)
{
    int index = -1; /* set for a long option only */
    int answer = getopt_long(argc, argv, letters, options, &index);
    const char *arg;

    if (answer < 0 || index < 0)
        return answer;
    /* The option's word is the last one read, or the one before it when that is its value. */
    arg = argv[optind - 1];
    if (optarg == arg)
        arg = argv[optind - 2];
    if (!is_spelled(arg, &options[index])) {
        if (optarg == argv[optind - 1])
            optind--; /* cmd_bad_option() looks at the word before optind */
        optopt = 0;
        return '?';
    }
    if (ret_index)
        *ret_index = index;
    return answer;
}

int cmd_read_options(int argc, char **argv, const struct option *options,
                     const struct cmd_place *places, size_t count, int (*help)(void))
{
    return cmd_read_letters(argc, argv, ":h", options, places, count, help);
}

int cmd_read_letters(int argc, char **argv, const char *letters, const struct option *options,
                     const struct cmd_place *places, size_t count, int (*help)(void))
{
    int answer;

    opterr = 0;
    while ((answer = cmd_getopt(argc, argv, letters, options, NULL)) >= 0) {
        if (answer == 'h')
            return help() + 1;
        if (!cmd_put(places, count, answer))
            return cmd_bad_option(argv[0], answer, argv, options) + 1;
    }
    return 0;
}

/* "--tiemout=5" without dashes and value. */
static void option_word(const char *arg, char *word, size_t size)
{
    arg += strspn(arg, "-");
    (void)snprintf(word, size, "%.*s", (int)strcspn(arg, "="), arg);
}

/* The only option that begins with `word`, or NULL. */
static const char *find_beginning(const char *word, const struct option *options)
{
    const char *found = NULL;

    for (const struct option *o = options; *word && o->name; o++) {
        if (strncmp(o->name, word, strlen(word)) != 0)
            continue;
        if (found)
            return NULL;
        found = o->name;
    }
    return found;
}

static int unknown_option(const char *command, const char *arg, const struct option *options,
                          struct error *err)
{
    const char *known[OPTIONS_MAX];
    size_t count = 0;
    char word[64], name[64];
    const char *nearest, *habit;

    option_word(arg, word, sizeof(word));
    for (; count < OPTIONS_MAX && options[count].name; count++)
        known[count] = options[count].name;
    nearest = find_beginning(word, options);
    if (!nearest)
        nearest = suggest_nearest(word, known, count);
    (void)snprintf(name, sizeof(name), "%s", arg);
    name[strcspn(name, "=")] = '\0';
    error_set(err, E_INVALID, "unknown option `%s`", name);
    habit = habit_option(command, name);
    if (habit)
        return error_hint(err, "%s", habit);
    if (nearest)
        return error_hint(err, "did you mean `--%s`?", nearest);
    return error_hint(err, "`belljar %s --help` lists the options", command);
}

int cmd_bad_option(const char *command, int answer, char **argv, const struct option *options)
{
    const char *last = argv[optind - 1], *arg = last ? last : ""; /* as getopt leaves it */
    struct error err = {0};
    char letter[3] = {'-', (char)optopt, '\0'};
    bool is_long = strncmp(arg, "--", 2) == 0;
    bool is_known = false;

    /* getopt sets optopt for short options and for known long ones, abbreviated ones included; an
     * unknown long one leaves 0. */
    for (const struct option *o = options; o->name; o++)
        is_known |= optopt && o->val == optopt && (!is_long || is_spelled(arg, o));
    if (answer == ':' && (is_known || !is_long)) {
        error_set(&err, E_INVALID, "option `%s` needs a value", arg);
    } else if (is_known && is_long) {
        error_set(&err, E_INVALID, "option `%.*s` takes no value", (int)strcspn(arg, "="), arg);
        if (strncmp(arg, "--help=", 7) == 0)
            (void)error_hint(&err, "`belljar %s --help` lists the options", command);
    } else {
        unknown_option(command, optopt && !is_known && !is_long ? letter : arg, options, &err);
    }
    return cmd_fail(&err);
}

void cmd_list_words(const char *const *words, size_t count, char *text, size_t size)
{
    size_t len = 0;

    *text = '\0';
    for (size_t i = 0; i < count && len < size; i++)
        len += (size_t)snprintf(text + len, size - len, "%s%s",
                                i == 0           ? ""
                                : i + 1 == count ? " or "
                                                 : ", ",
                                words[i]);
}

const void *cmd_find_action(const char *command, const char *word, const void *actions,
                            size_t count, size_t row_bytes, struct error *err)
{
    const char *known[ACTIONS_MAX] = {0}, *nearest;
    char all[256];

    count = count < ACTIONS_MAX ? count : ACTIONS_MAX;
    for (size_t i = 0; i < count; i++) {
        const char *row = (const char *)actions + i * row_bytes;

        memcpy(&known[i], row, sizeof(known[i]));
        if (word && strcmp(word, known[i]) == 0)
            return row;
    }
    cmd_list_words(known, count, all, sizeof(all));
    nearest = word ? suggest_nearest(word, known, count) : NULL;
    if (word)
        error_set(err, E_INVALID, "unknown action `%s`", word);
    else
        error_set(err, E_INVALID, "`belljar %s` needs an action: %s", command, all);
    if (nearest)
        error_hint(err, "did you mean `belljar %s %s`?", command, nearest);
    else
        error_hint(err, "`belljar %s --help` describes them", command);
    return NULL;
}

int cmd_bad_argument(const char *command, const char *word)
{
    struct error err = {0};

    error_set(&err, E_INVALID, "`belljar %s` does not take `%s`", command, word);
    error_hint(&err, "`belljar %s --help` shows the usage", command);
    return cmd_fail(&err);
}
