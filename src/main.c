/* belljar: runs untrusted code under glass. This file finds the subcommand, nothing more.
 *
 * Theory of operation. This process is the supervisor, the only trusted one. It starts
 * belljar-zygote, a program of its own that holds a warm Python and never runs users' code, over
 * one socket; the zygote clones one process per sandbox into fresh namespaces: pid 1 of that
 * sandbox, which seals itself and starts the kernel that runs the code. The supervisor holds a
 * socket to pid 1, a socket to the kernel and the pipes of stdout and stderr; it believes what the
 * Linux kernel says about those processes and nothing they say themselves (docs/ARCHITECTURE.md).
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/suggest.h"
#include "cli/cmd.h"
#include "cli/habits.h"
#include "cli/run_source.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} commands[] = {
    {"run", cmd_run, "run a program in a fresh sandbox: Python, Bash, JavaScript"},
    {"exec", cmd_exec, "run a command of this system in a fresh sandbox"},
    {"batch", cmd_batch, "run many programs and print a table of how they ended"},
    {"shell", cmd_shell, "open a prompt in a sandbox that keeps its state"},
    {"serve", cmd_serve, "serve requests over HTTP from a pool of warm sandboxes"},
    {"machine", cmd_machine, "test virtual machines; show or stop the one of a server"},
    {"cluster", cmd_cluster, "connect this server with those of other machines"},
    {"mcp", cmd_mcp, "serve an MCP client on standard input and output"},
    {"console", cmd_console, "open the web console of a server in the browser"},
    {"ps", cmd_ps, "list what a server runs and keeps"},
    {"jobs", cmd_jobs, "list, wait for and cancel durable jobs of a server"},
    {"logs", cmd_logs, "show the output of a run on a server"},
    {"stop", cmd_stop, "end runs and sessions of a server"},
    {"session", cmd_session, "list, show and remove sessions of a server, and copy their files"},
    {"skills", cmd_skills, "manage code that later programs can import"},
    {"state", cmd_state, "manage work that agents have saved for later"},
    {"undo", cmd_undo, "undo what a run changed in your directories"},
    {"environment", cmd_environment, "manage sets of packages that programs can import"},
    {"token", cmd_token, "add, list and remove tokens of a server"},
    {"setup", cmd_setup, "register Belljar with an MCP client"},
    {"audit", cmd_audit, "show and verify the record of what was run"},
    {"doctor", cmd_doctor, "report how well this host can isolate, and how to improve it"},
    {"mask", cmd_mask, "replace secrets in text with labels"},
    {"config", cmd_config, "show the settings and where each comes from"},
    {"bench", cmd_bench, "measure start-up, throughput and memory on this host"},
    {"version", cmd_version, "show the version; with --build, how it was built"},
};

static int help(FILE *out, int code)
{
    (void)fprintf(out, "usage: belljar COMMAND [OPTION]…\n\n"
                       "Run untrusted Python, Bash and JavaScript programs in sandboxes.\n\n"
                       "commands:\n");
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        (void)fprintf(out, "  %-11s %s\n", commands[i].name, commands[i].help);
    (void)fprintf(out, "\n`belljar COMMAND --help` describes a command.\n\n"
                       "example:\n"
                       "  belljar run -c 'print(sum(range(10)))'\n");
    return code;
}

static int unknown(const char *word)
{
    const char *known[ARRAY_SIZE(commands)];
    struct error err = {0};
    const char *nearest, *habit = habit_command(word);

    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        known[i] = commands[i].name;
    nearest = suggest_nearest(word, known, ARRAY_SIZE(known));
    error_set(&err, E_INVALID, "unknown %s `%s`", *word == '-' ? "option" : "command", word);
    if (*word != '-' && (run_source_has_suffix(word) || strchr(word, '/')))
        error_hint(&err, "`belljar run %s` runs a program", word);
    else if (habit)
        error_hint(&err, "%s", habit);
    else if (nearest)
        error_hint(&err, "did you mean `belljar %s`?", nearest);
    else
        error_hint(&err, "`belljar --help` lists the commands");
    return cmd_fail(&err);
}

static int run_command(const char *name, int argc, char **argv)
{
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        if (strcmp(name, commands[i].name) == 0)
            return commands[i].run(argc, argv);
    return unknown(name);
}

/* `belljar help run` is `belljar run --help`, and `--help=all` is it with all options. */
static int help_about(char *name, bool is_whole)
{
    char flag[] = "--help";

    cmd_help_is_whole = is_whole;
    return run_command(name, 2, (char *[]){name, flag, NULL});
}

static int do_command(int argc, char **argv)
{
    if (argc < 2)
        return help(stderr, error_code_exit(E_INVALID));
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0)
        return argc > 2 && argv[2][0] != '-' ? help_about(argv[2], false) : help(stdout, 0);
    if (strcmp(argv[1], "--version") == 0)
        return cmd_version(1, (char *[]){(char *)"version", NULL});
    if (strcmp(argv[1], "--resolve") == 0) /* by ourselves only */
        return cmd_resolve(argc - 1, argv + 1);
    if (strcmp(argv[1], "--fetch") == 0) /* the same */
        return cmd_fetch(argc - 1, argv + 1);
    if (argc == 3 && strcmp(argv[2], "--help=all") == 0)
        return help_about(argv[1], true);
    return run_command(argv[1], argc - 1, argv + 1);
}

/* The output of a command must arrive; on a full disk it does not. A reader that closed the pipe is
 * no error. */
static int check_output(int code)
{
    struct error err = {0};
    bool was_lost = ferror(stdout) != 0;

    errno = 0;
    if ((fflush(stdout) == 0 && !was_lost) || code != 0)
        return code;
    errno = cmd_has_no_reader() ? EPIPE : errno ? errno : EIO; /* 0: it failed before */
    error_errno(&err, "write to standard output");
    return cmd_fail(&err);
}

int main(int argc, char **argv)
{
    cmd_prepare();
    (void)signal(SIGPIPE, SIG_IGN); /* whoever we write to may go away; write(2) says so */
    return check_output(do_command(argc, argv));
}
