/* The options of `belljar run` and `belljar exec`: one table, from which both their parsers and
 * their help are made. Flags of the settings (limits, profile, environment) come from the table of
 * base/config.c. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/flags.h"
#include "cli/run_command.h"
#include "engine/pythons.h"

enum {
    OPT_CODE = 'c',
    OPT_LANGUAGE = 'l',
    OPT_HELP = 'h',
    OPT_WORKDIR = 'C',
    OPT_DETACH = 'd',
    OPT_TERMINAL = 't',
    OPT_CONFIG = 256,
    OPT_ENV,
    OPT_HERE,
    OPT_STDIN,
    OPT_JSON,
    OPT_SAVE,
    OPT_AUTO_PRINT,
    OPT_CHECK,
    OPT_RECEIPT,
    OPT_APPLY,
    OPT_DIFF,
    OPT_WITH_HIDDEN,
    OPT_SEED,
    OPT_PYTHON,
    OPT_SERVER,
    OPT_SESSION,
    OPT_TOKEN_FILE,
    OPT_FILE,
    OPT_COLLECT,
    OPT_INTO,
    OPT_REPLACE,
    OPT_JOB,
    OPT_ATTEMPTS,
    OPT_ONCE,
    OPT_RETRY_ON,
    OPT_KEEP,
    OPT_SETTING
};

#define RUN  RUN_KIND_RUN
#define EXEC RUN_KIND_EXEC
#define BOTH (RUN_KIND_RUN | RUN_KIND_EXEC)
#define MORE (RUN_KIND_RUN << 4) /* listed with --help=all */

/* In the order of the help; `usage` NULL: it is not in it. */
static const struct row {
    unsigned kinds;
    const char *name;
    int has_value;
    int answer;
    const char *usage, *help;
} rows[] = {
    {RUN, "code", required_argument, OPT_CODE, "-c CODE", "run this text"},
    {RUN, "language", required_argument, OPT_LANGUAGE, "-l LANGUAGE",
     "python, bash, js, ts (by FILE's suffix or #! line)"},
    {BOTH, "tty", no_argument, OPT_TERMINAL, "-t",
     "give it a terminal: for editors, shells, REPLs, `read`"},
    {BOTH, "here", no_argument, OPT_HERE, "--here",
     "see the current directory, start there, in profile open"},
    {BOTH, "env", required_argument, OPT_ENV, "--env NAME=VALUE",
     "set an environment variable; repeatable"},
    {BOTH | MORE, "stdin", required_argument, OPT_STDIN, "--stdin FILE",
     "standard input of the program (a pipe or file here)"},
    {BOTH, "file", required_argument, OPT_FILE, "--file FILE[=NAME]",
     "put a copy of FILE into /workspace; repeatable"},
    {BOTH, "collect", required_argument, OPT_COLLECT, "--collect PATTERN",
     "bring files of /workspace back, such as 'out/*.png'"},
    {BOTH, "into", required_argument, OPT_INTO, "--into DIR", "write collected files there"},
    {BOTH, "replace", no_argument, OPT_REPLACE, NULL, NULL},
    {RUN | MORE, "auto-print", no_argument, OPT_AUTO_PRINT, "--auto-print",
     "print the value of the last expression"},
    {RUN | MORE, "check", no_argument, OPT_CHECK, "--check",
     "run nothing; tell what would be refused or is missing"},
    {BOTH, "json", no_argument, OPT_JSON, "--json", "print the result as one JSON object"},
    {BOTH | MORE, "detach", no_argument, OPT_DETACH, "-d",
     "start it on the server, print its id, and leave it"},
    {RUN | MORE, "job", no_argument, OPT_JOB, "--job",
     "leave it to the server, as a job that survives restarts"},
    {RUN | MORE, "attempts", required_argument, OPT_ATTEMPTS, "--attempts N",
     "with --job: begin it at most N times (3)"},
    {RUN | MORE, "once", no_argument, OPT_ONCE, "--once", "with --job: begin it once at most"},
    {RUN | MORE, "retry-on", required_argument, OPT_RETRY_ON, "--retry-on STATUS",
     "with --job: again after error, timeout, memory_exceeded"},
    {RUN | MORE, "keep", required_argument, OPT_KEEP, "--keep SECONDS",
     "with --job: how long to keep its result (86400)"},
    {RUN | MORE, "save", required_argument, OPT_SAVE, "--save DIR",
     "save pictures as files in DIR"},
    {RUN | MORE, "seed", required_argument, OPT_SEED, "--seed N",
     "make the output the same every time"},
    {RUN | MORE, "python", required_argument, OPT_PYTHON, "--python VERSION",
     "use this Python, such as 3.13; see `belljar doctor`"},
    {BOTH | MORE, "receipt", no_argument, OPT_RECEIPT, "--receipt",
     "print a signed receipt on standard error"},
    {BOTH, "diff", no_argument, OPT_DIFF, "--diff", "show the changes made in DIR:cow directories"},
    {BOTH, "apply", no_argument, OPT_APPLY, "--apply", "write those changes to the disk"},
    {BOTH | MORE, "with-hidden", no_argument, OPT_WITH_HIDDEN, "--with-hidden",
     "with --apply: also what the diff does not show"},
    {BOTH | MORE, "server", required_argument, OPT_SERVER, "--server URL",
     "run it on a server (http://, https://, unix:PATH, auto)"},
    {BOTH | MORE, "session", required_argument, OPT_SESSION, "--session NAME",
     "run it in this session on the server"},
    {BOTH | MORE, "token-file", required_argument, OPT_TOKEN_FILE, "--token-file FILE",
     "file with the token for the server"},
    {BOTH | MORE, "config", required_argument, OPT_CONFIG, "--config FILE",
     "read this file instead of the usual ones"},
    {BOTH, "help", no_argument, OPT_HELP, NULL, NULL},
};

/* The differences between the two commands. Everything after FILE or COMMAND is the program's,
 * whatever it looks like. */
static const struct kind {
    const char *name;
    const char *letters;
    const char *head, *tail;
} kinds[] = {
    [RUN] = {"run", "+:c:l:C:dth",
             "usage: belljar run [OPTION]… {FILE | - | -c CODE} [ARGUMENT]…\n"
             "Run a program in a fresh sandbox. Defaults are in parentheses.\n",
             "exit: the program's own; 124 time, 137 memory, 126 refused, 125 Belljar failed\n"
             "example: belljar run --timeout 5 --memory 256 analysis.py\n"},
    [EXEC] = {"exec", "+:C:dth",
              "usage: belljar exec [OPTION]… [--] COMMAND [ARGUMENT]…\n"
              "Run a command of this system in a fresh sandbox. Defaults are in parentheses.\n",
              "exit: the command's own; 127 not found, 126 not executable, 124 time,\n"
              "      137 memory, 125 Belljar failed\n"
              "example: belljar exec --allow . -- make test\n"},
};

static int help(const struct kind *kind, unsigned bit)
{
    (void)fputs(kind->head, stdout);
    for (const struct row *row = rows; row < rows + ARRAY_SIZE(rows); row++)
        if ((row->kinds & bit) && row->usage && (cmd_help_is_whole || !(row->kinds & MORE)))
            (void)printf("  %-21s %s\n", row->usage, row->help);
    flags_print(kind->name);
    (void)fputs(kind->tail, stdout);
    return 0;
}

/* FILE and its arguments; with -c there are only arguments. */
static int add_program(struct run_command *job, char **words, struct error *err)
{
    size_t bytes = 0;

    if (!job->request.source.code)
        job->asked.filename = job->request.source.file = *words++;
    for (size_t count = 1; *words; words++, count++) {
        bytes += strlen(*words);
        if (count == LIMIT_ARGS_COUNT || bytes > LIMIT_ARGS_BYTES)
            return error_set(err, E_TOO_LARGE,
                             "a program takes at most %d arguments of %zu bytes together",
                             LIMIT_ARGS_COUNT - 1, LIMIT_ARGS_BYTES);
        if (run_request_add(&job->asked.args, *words, err) < 0)
            return -1;
    }
    return 0;
}

/* COMMAND and its arguments, as they are. */
static int add_command(struct run_command *job, char **words, struct error *err)
{
    size_t bytes = 0;

    if (!**words)
        return error_set(err, E_INVALID, "the command is empty");
    job->request.source.command = words;
    job->asked.filename = *words;
    for (size_t count = 0; *words; words++, count++) {
        bytes += strlen(*words) + 1;
        if (count == LIMIT_COMMAND_WORDS || bytes > LIMIT_COMMAND_BYTES) {
            error_set(err, E_TOO_LARGE, "a command has at most %d words of %zu bytes together",
                      LIMIT_COMMAND_WORDS, LIMIT_COMMAND_BYTES);
            return error_hint(err, "use `xargs`, or let the command read a list of files");
        }
        if (count && run_request_add(&job->asked.args, *words, err) < 0)
            return -1;
    }
    return 0;
}

static int read_seed(const char *text, struct run_request *asked, struct error *err)
{
    char *end;

    errno = 0;
    asked->seed = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || errno || asked->seed > LIMIT_SEED) {
        error_set(err, E_INVALID, "--seed: expected a whole number, got `%s`", text);
        return error_hint(err, "a whole number from 0 to %lld", (long long)LIMIT_SEED);
    }
    asked->has_seed = true;
    return 0;
}

/* A mistake in an option that stands before --json is answered in its form, too. */
static bool wants_json(const struct kind *kind, const struct option *options, int argc, char **argv)
{
    bool is_json = false;
    int answer;

    opterr = 0;
    while ((answer = cmd_getopt(argc, argv, kind->letters, options, NULL)) >= 0)
        is_json |= answer == OPT_JSON;
    optind = 0; /* to be read again */
    return is_json;
}

/* False: it is none of those that are only written down. */
static bool put_option(struct run_command *job, int answer)
{
    struct run_arguments *request = &job->request;
    const struct cmd_place places[] = {
        {OPT_CODE, .word = &request->source.code},
        {OPT_LANGUAGE, .word = &request->source.language},
        {OPT_CONFIG, .word = &request->config},
        {OPT_STDIN, .word = &request->source.input},
        {OPT_SAVE, .word = &request->save},
        {OPT_PYTHON, .word = &request->python},
        {OPT_SERVER, .word = &job->remote.server},
        {OPT_SESSION, .word = &job->remote.session},
        {OPT_TOKEN_FILE, .word = &job->remote.token_file},
        {OPT_JSON, .flag = &job->is_json},
        {OPT_DETACH, .flag = &job->remote.is_detached},
        {OPT_JOB, .flag = &job->remote.job.is_wanted},
        {OPT_ATTEMPTS, .word = &job->remote.job.attempts},
        {OPT_ONCE, .flag = &job->remote.job.is_once},
        {OPT_RETRY_ON, .word = &job->remote.job.retry_on},
        {OPT_KEEP, .word = &job->remote.job.keep_s},
        {OPT_AUTO_PRINT, .flag = &job->asked.auto_print},
        {OPT_CHECK, .flag = &job->asked.is_check},
        {OPT_RECEIPT, .flag = &job->asked.wants_receipt},
        {OPT_APPLY, .flag = &job->applies},
        {OPT_DIFF, .flag = &job->has_diffs},
        {OPT_WITH_HIDDEN, .flag = &job->with_hidden},
        {OPT_HERE, .flag = &request->is_here},
        {OPT_TERMINAL, .flag = &job->terminal.is_wanted},
        {OPT_INTO, .word = &job->files.into},
        {OPT_REPLACE, .flag = &job->files.replaces},
    };

    return cmd_put(places, ARRAY_SIZE(places), answer);
}

/* A server is told only what was said here; its own settings hold for the rest. */
static int set_flag(struct run_command *job, const char *name, const char *value, struct error *err)
{
    if (job->remote.n_flags < REMOTE_FLAGS_MAX)
        job->remote.flags[job->remote.n_flags++] = name;
    return config_set_flag(job->config, name, value, err);
}

/* `--python 3.13` is the environment `python3.13`. */
static int choose_python(struct run_command *job, struct error *err)
{
    const char *given = job->request.python;
    char version[PYTHON_VERSION_TEXT], name[64];

    if (!given)
        return 0;
    for (size_t i = 0; i < job->remote.n_flags; i++)
        if (strcmp(job->remote.flags[i], "environment") == 0) {
            error_set(err, E_INVALID, "--python does not work with --environment");
            return error_hint(err, "an environment has the Python that it was made with");
        }
    (void)snprintf(name, sizeof(name), "python%s", given);
    if (pythons_name(name, version))
        return set_flag(job, "environment", name, err);
    error_set(err, E_INVALID, "--python: expected a version such as 3.13, got `%.40s`", given);
    return error_hint(err, "`belljar doctor` lists the Pythons that can be used");
}

static int add_words(struct run_command *job, int argc, char **argv, struct error *err)
{
    if (job->kind == RUN)
        return optind < argc ? add_program(job, argv + optind, err) : 0;
    if (optind < argc)
        return add_command(job, argv + optind, err);
    error_set(err, E_INVALID, "no command was given");
    return error_hint(err, "`belljar exec --allow . -- make test` runs `make test`");
}

/* A durable job is a detached run that outlives its server. */
static int check_job(struct run_command *job, struct error *err)
{
    const struct remote_job *asked = &job->remote.job;

    if (!asked->is_wanted &&
        (asked->attempts || asked->is_once || asked->retry_on || asked->keep_s))
        return error_set(err, E_INVALID, "--attempts, --once, --retry-on and --keep need --job");
    if (asked->is_wanted && job->remote.session) {
        error_set(err, E_INVALID, "--job does not work with --session");
        return error_hint(err, "a session ends with its server; a job has a sandbox of its own");
    }
    job->remote.is_detached |= asked->is_wanted;
    return 0;
}

/* A terminal takes input and output itself. */
static int check_terminal(const struct run_command *job, struct error *err)
{
    const char *other = !job->terminal.is_wanted    ? NULL
                        : job->is_json              ? "--json"
                        : job->request.source.input ? "--stdin"
                        : job->remote.job.is_wanted ? "--job"
                        : job->remote.is_detached   ? "-d"
                        : job->asked.is_check       ? "--check"
                                                    : NULL;

    if (job->terminal.is_wanted && !other && job->kind == RUN_KIND_RUN &&
        (job->remote.server || job->remote.session)) {
        error_set(err, E_INVALID, "`run -t` does not work with a server");
        return error_hint(err, "`belljar exec -t --session NAME -- COMMAND` runs a command there");
    }
    return other ? error_set(err, E_INVALID, "-t does not work with %s", other) : 0;
}

static void list_options(const struct kind *kind, unsigned bit, struct option *options)
{
    struct option own[ARRAY_SIZE(rows)];
    size_t n = 0;

    for (const struct row *row = rows; row < rows + ARRAY_SIZE(rows); row++)
        if (row->kinds & bit)
            own[n++] = (struct option){row->name, row->has_value, NULL, row->answer};
    flags_options(kind->name, own, n, OPT_SETTING, options);
}

int run_options_parse(struct run_command *job, int argc, char **argv)
{
    const struct kind *kind = &kinds[job->kind];
    struct option options[FLAGS_OPTIONS_MAX];
    struct error err = {0};
    int answer, index, r = 0;

    list_options(kind, job->kind, options);
    job->is_json = wants_json(kind, options, argc, argv);
    while (r == 0 && (answer = cmd_getopt(argc, argv, kind->letters, options, &index)) >= 0) {
        if (put_option(job, answer))
            continue;
        switch (answer) {
        case OPT_HELP:
            return help(kind, job->kind) + 1;
        case OPT_ENV:
            r = flags_add_env(&job->asked, optarg, &err);
            break;
        case OPT_FILE:
            r = run_files_add(&job->files, optarg, &err);
            break;
        case OPT_COLLECT:
            r = run_files_add_pattern(&job->files, optarg, &err);
            break;
        case OPT_SEED:
            r = read_seed(optarg, &job->asked, &err);
            break;
        case OPT_WORKDIR:
            r = set_flag(job, "workdir", optarg, &err);
            break;
        case OPT_SETTING:
            r = set_flag(job, options[index].name, optarg, &err);
            break;
        default:
            return cmd_bad_option(kind->name, answer, argv, options) + 1;
        }
    }
    if (r == 0)
        r = choose_python(job, &err);
    if (r == 0)
        r = add_words(job, argc, argv, &err);
    if (r == 0)
        r = check_job(job, &err);
    if (r == 0)
        r = check_terminal(job, &err);
    if (r == 0)
        r = run_files_check(&job->files, &err);
    if (r == 0 && job->files.into && job->remote.is_detached)
        r = error_set(&err, E_INVALID, "--collect does not work with %s",
                      job->remote.job.is_wanted ? "--job" : "-d");
    if (r == 0 && job->asked.is_check && job->remote.session)
        r = error_set(&err, E_INVALID, "--check checks a whole program; leave out --session");
    return r < 0 ? run_command_fail(job, &err) + 1 : 0;
}
