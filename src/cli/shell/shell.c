/* belljar shell: a prompt into a session in a sandbox of its own.
 *
 * Lines come from the editor (terminal/editor.c) until they are a whole cell (terminal/cell.c), or
 * from a pipe, where the same rules hold and nobody is prompted. One cell runs at a time, and while
 * it does nobody is asked for a line.
 */
#include <locale.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "admit/admit.h"
#include "admit/tokens.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/language.h"
#include "base/paths.h"
#include "cli/cmd.h"
#include "cli/run_terminal.h"
#include "cli/shell/shell.h"
#include "store/store.h"
#include "terminal/cell.h"

#define SESSIONS_MAX 64

/* --- words for the person --- */

/* The message may contain names that a program chose. */
static void print(const char *before, const char *text)
{
    cleanup(buf_done) struct buf line = BUF_OF(MIB);

    (void)buf_add_str(&line, before, NULL);
    (void)terminal_line(text, strlen(text), &line, NULL);
    (void)buf_add_str(&line, "\n", NULL);
    (void)file_write_all(STDERR_FILENO, buf_str(&line), line.len);
}

void shell_say(const char *fmt, ...)
{
    cleanup_free char *text = NULL;
    va_list args;

    va_start(args, fmt);
    if (vasprintf(&text, fmt, args) < 0)
        text = NULL;
    va_end(args);
    if (text)
        print("", text);
}

void shell_fail(struct shell *shell, struct error *err)
{
    shell->exit_code = error_code_exit(err->code);
    (void)cmd_fail(err);
}

/* --- lines --- */

void shell_end(struct shell *shell)
{
    shell->is_ending = shell->is_over = true;
    loop_stop(shell->engine.loop);
}

/* With its number where there is more than one session. */
static struct editor_prompt prompt(struct shell *shell)
{
    static const struct {
        const char *first, *more;
    } signs[] = {{">>> ", "... "}, {"$ ", "> "}, {"> ", "... "}}; /* of Python, Bash, others */
    size_t kind = shell->language < ARRAY_SIZE(signs) ? shell->language : ARRAY_SIZE(signs) - 1;
    size_t count, number = shell_session_number(shell, &count);
    char sign[16] = "";

    if (count > 1)
        (void)snprintf(sign, sizeof(sign), "[%zu] ", number);
    (void)snprintf(shell->more, sizeof(shell->more), "%s%s", sign, signs[kind].more);
    (void)snprintf(shell->first, sizeof(shell->first), "%s%s", sign, signs[kind].first);
    return (struct editor_prompt){shell->text.len ? shell->more : shell->first, shell->more,
                                  shell->language};
}

static void ask(struct shell *shell)
{
    const struct editor_prompt asked = prompt(shell);

    editor_ask(shell->editor, &asked);
}

void shell_ask(struct shell *shell)
{
    if (shell->is_over)
        return;
    if (shell->is_ending || (!shell->session && !shell->remote))
        shell_end(shell);
    else
        ask(shell);
}

/* More of a cell, and its run when nothing is open any more. */
static void take(struct shell *shell, const char *text)
{
    struct error err = {0};

    if ((shell->text.len && buf_add_str(&shell->text, "\n", &err) < 0) ||
        buf_add_str(&shell->text, text, &err) < 0) {
        buf_clear(&shell->text);
        shell_fail(shell, &err);
    }
    if (strspn(buf_str(&shell->text), " \t\r\n") == shell->text.len)
        buf_clear(&shell->text);
    if (shell->text.len && cell_is_complete(shell->language, buf_str(&shell->text)))
        shell_run_cell(shell);
    else
        shell_ask(shell);
}

/* Without the empty line that ended it. */
static void remember(struct shell *shell, const char *text)
{
    cleanup_free char *copy = strdup(text);
    size_t len = strlen(text);

    while (len && strchr(" \t\r\n", text[len - 1]))
        len--;
    if (!copy || *copy == ' ') /* a space in front: not to be remembered */
        return;
    copy[len] = '\0';
    editor_remember(shell->editor, copy);
}

static void on_line(void *owner, const char *text)
{
    struct shell *shell = owner;

    remember(shell, text);
    if (!shell->text.len && shell_is_command(text))
        shell_command(shell, text);
    else
        take(shell, text);
}

static bool is_complete(void *owner, const char *text)
{
    const struct shell *shell = owner;

    return shell_is_command(text) || cell_is_complete(shell->language, text);
}

/* Unfinished text is run anyway: the language reports what is missing. */
static void on_end(void *owner, struct error *err)
{
    struct shell *shell = owner;

    if (editor_is_interactive(shell->editor))
        (void)file_write_all(STDERR_FILENO, "\n", 1);
    shell->is_ending = true;
    if (err) {
        shell_fail(shell, err);
        shell_end(shell);
    } else if (shell->text.len) {
        shell_run_cell(shell);
    } else {
        if (editor_is_interactive(shell->editor))
            shell->exit_code = 0;
        shell->is_ending = shell_may_leave(shell);
        shell_ask(shell);
    }
}

static const struct editor_events editor_events = {on_line, on_end, is_complete, shell_complete};

/* --- signals --- */

void shell_discard_line(struct shell *shell)
{
    struct editor_prompt asked;

    buf_clear(&shell->text);
    asked = prompt(shell);
    editor_discard(shell->editor, &asked);
}

static void on_interrupt(void *arg)
{
    struct shell *shell = arg;

    if (shell->is_completing) {
        shell->is_interrupted = true;
        shell->backend->ops->interrupt(shell->backend);
    } else if (shell->has_cell) {
        shell_interrupt(shell);
    } else if (!editor_is_interactive(shell->editor)) {
        shell->exit_code = 130;
        shell_end(shell);
    } else {
        shell_discard_line(shell);
    }
}

static void on_terminate(void *arg)
{
    struct shell *shell = arg;

    shell->exit_code = 130;
    shell_end(shell);
}

static void on_resize(void *arg)
{
    struct shell *shell = arg;

    editor_resize(shell->editor);
}

static void on_continue(void *arg)
{
    struct shell *shell = arg;

    editor_resume(shell->editor);
}

static int loop_until_end(struct shell *shell, struct error *err)
{
    static const struct {
        int sig;
        loop_fn fn;
    } signals[] = {
        {SIGINT, on_interrupt}, {SIGTERM, on_terminate}, {SIGHUP, on_terminate},
        {SIGWINCH, on_resize},  {SIGCONT, on_continue},
    };
    struct loop_watch *watches[ARRAY_SIZE(signals)] = {0};
    int r = 0;

    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        watches[i] = loop_watch_signal(shell->engine.loop, signals[i].sig, signals[i].fn, shell);
    while (r == 0 && !shell->is_over)
        r = loop_run(shell->engine.loop, err);
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        loop_watch_free(watches[i]);
    return r;
}

/* --- options --- */

enum {
    OPT_LANGUAGE = 'l',
    OPT_HELP = 'h',
    OPT_WORKDIR = 'C',
    OPT_CONFIG = 256,
    OPT_ENV,
    OPT_SAVE,
    OPT_SESSION,
    OPT_SERVER,
    OPT_TOKEN_FILE,
    OPT_HERE,
    OPT_SETTING
};

static const struct option own_options[] = {
    {"language", required_argument, NULL, OPT_LANGUAGE},
    {"help", no_argument, NULL, OPT_HELP},
    {"config", required_argument, NULL, OPT_CONFIG},
    {"here", no_argument, NULL, OPT_HERE},
    {"env", required_argument, NULL, OPT_ENV},
    {"save", required_argument, NULL, OPT_SAVE},
    {"session", required_argument, NULL, OPT_SESSION},
    {"server", required_argument, NULL, OPT_SERVER},
    {"token-file", required_argument, NULL, OPT_TOKEN_FILE},
};

static int help(void)
{
    (void)printf("usage: belljar shell [OPTION]…\n\n"
                 "Open a prompt in a sandbox that keeps variables and files from cell to cell.\n"
                 "Time limits apply to each cell. Defaults are in parentheses.\n\n"
                 "  -l LANGUAGE           python, bash, javascript or typescript (python)\n"
                 "  --here                see the current directory, start there, in profile open\n"
                 "  --env NAME=VALUE      set an environment variable; repeatable\n"
                 "  --save DIR            save pictures in DIR (below your state directory)\n"
                 "  --session NAME        use a live session of the server at --server URL\n"
                 "  --config FILE         read this file instead of the usual ones\n");
    flags_print("shell");
    (void)printf("\nexample: belljar shell --profile open --allow ~/data\n");
    return 0;
}

struct choice {
    const char *language, *config, *save;
    bool is_here;         /* the current directory is granted */
    struct remote remote; /* its session; NULL: one of our own */
};

static int set_flag(struct shell *shell, struct choice *choice, const char *name, struct error *err)
{
    if (choice->remote.n_flags < REMOTE_FLAGS_MAX)
        choice->remote.flags[choice->remote.n_flags++] = name;
    return config_set_flag(shell->config, name, optarg, err);
}

/* Returns 0, or the exit code + 1 when there is nothing more to do. */
static int parse(struct shell *shell, struct choice *choice, int argc, char **argv)
{
    struct option options[FLAGS_OPTIONS_MAX];
    struct error err = {0};
    int answer, index, r = 0;

    flags_options("shell", own_options, ARRAY_SIZE(own_options), OPT_SETTING, options);
    opterr = 0;
    while ((answer = cmd_getopt(argc, argv, ":l:C:h", options, &index)) >= 0) {
        switch (answer) {
        case OPT_LANGUAGE:
            choice->language = optarg;
            break;
        case OPT_HELP:
            return help() + 1;
        case OPT_CONFIG:
            choice->config = optarg;
            break;
        case OPT_ENV:
            r = flags_add_env(&shell->asked, optarg, &err);
            break;
        case OPT_SAVE:
            choice->save = optarg;
            break;
        case OPT_SESSION:
            choice->remote.session = optarg;
            break;
        case OPT_SERVER:
            choice->remote.server = optarg;
            break;
        case OPT_TOKEN_FILE:
            choice->remote.token_file = optarg;
            break;
        case OPT_HERE:
            choice->is_here = true;
            break;
        case OPT_WORKDIR:
            r = set_flag(shell, choice, "workdir", &err);
            break;
        case OPT_SETTING:
            r = set_flag(shell, choice, options[index].name, &err);
            break;
        default:
            return cmd_bad_option("shell", answer, argv, options) + 1;
        }
        if (r < 0)
            return cmd_fail(&err) + 1;
    }
    if (optind < argc)
        return cmd_bad_argument("shell", argv[optind]) + 1;
    return 0;
}

/* --- beginning and end --- */

static int check_directory(const char *path, struct error *err)
{
    struct stat st;

    if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode)) {
        error_set(err, E_NOT_FOUND, "--save `%s` is not a directory", path);
        return error_hint(err, "name an existing directory");
    }
    return 0;
}

/* Without --save the place is found when there is something to keep. */
static int pick_pictures(struct shell *shell, const char *save, struct error *err)
{
    shell->protocol = picture_protocol(STDOUT_FILENO);
    if (!save)
        return 0;
    shell->pictures = strdup(save);
    return shell->pictures ? check_directory(save, err) : error_memory(err);
}

struct admission shell_admission(const struct shell *shell)
{
    return (struct admission){
        .config = shell->config,
        .profiles = shell->profiles,
        .session = shell->session,
        .has_settings_grants = true,
        .store = shell->store,
        .keeper = TOKEN_FIRST,
    };
}

static void on_session_start(void *user, struct session *session)
{
    struct shell *shell = user;

    (void)session;
    if (editor_is_interactive(shell->editor))
        shell_say("%s in a sandbox, profile %s; `:help` lists the commands",
                  languages[shell->language].title, shell->config->profile);
    shell_ask(shell);
}

void shell_on_session_end(void *user, struct session *session, const char *why)
{
    struct shell *shell = user;
    size_t count, number;

    if (!shell_remove_session(shell, session) || shell->is_over)
        return;
    if (session != shell->session) {
        shell_say("belljar: a session ended: %s", why);
        return;
    }
    shell_say("belljar: the session ended: %s", why);
    shell->session = NULL;
    for (size_t i = 0; i < SHELL_SESSIONS_MAX && !shell->session; i++)
        shell->session = shell->list[i];
    if (shell->session) {
        number = shell_session_number(shell, &count);
        shell_say("belljar: continuing in session %zu", number);
        return;
    }
    shell->exit_code = CMD_EXIT_OWN;
    if (!shell->has_cell && !shell->is_completing)
        shell_end(shell);
}

static int open_session(struct shell *shell, struct error *err)
{
    struct sessions_options limits = engine_sessions(&shell->engine, shell->config);
    const struct session_options options = {
        .owner = "", .on_start = on_session_start, .on_end = shell_on_session_end, .user = shell};
    struct admission admission;

    limits.max_total = limits.max_per_owner = SESSIONS_MAX;
    shell->store = store_open_usual(NULL); /* without a place for it, nothing is kept */
    admission = shell_admission(shell);
    shell->asked.language = shell->language;
    shell->asked.has_one_stream = output_sink_is_one();
    if (run_terminal_describe_size(&shell->asked, err) < 0 ||
        sessions_new(shell->engine.loop, shell->engine.pool, &limits, &shell->sessions, err) < 0 ||
        admit_session(&admission, &shell->asked, shell->sessions, &options, &shell->session, err) <
            0)
        return -1;
    shell_add_session(shell, shell->session);
    return 0;
}

static int open_editor(struct shell *shell, struct error *err)
{
    cleanup_error struct error ignored = {0};
    cleanup_free char *history = paths_state("history", &ignored);
    const struct editor_options options = {
        .in = STDIN_FILENO,
        .out = STDOUT_FILENO,
        .line_max = (size_t)shell->config->code_bytes,
        .history_path = history,
        .has_color = terminal_has_color(STDOUT_FILENO, shell->config->color),
    };

    /* The editor counts characters, and columns that they take. */
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        (void)setlocale(LC_CTYPE, "");
    return editor_new(shell->engine.loop, &options, &editor_events, shell, &shell->editor, err);
}

/* A session of our own. */
static int open_here(struct shell *shell, struct error *err)
{
    struct run_limits limits;

    admit_limits(shell->config, NULL, &limits);
    /* A person waits for the prompt, and will import what is needed. */
    if (engine_open(&shell->engine, shell->config,
                    &(struct engine_stock){.warm = true, .bare = true}, &limits, err) < 0 ||
        engine_open_trail(&shell->engine, shell->config,
                          &(struct recorder_options){.on_note = cmd_note}, err) < 0 ||
        profiles_open(shell->config, &shell->profiles, err) < 0)
        return -1;
    return open_session(shell, err);
}

/* As `belljar run --here`: code of a project imports what it likes. */
static int start_in_place(struct shell *shell, struct error *err)
{
    if (flags_grant_here(shell->config, err) < 0)
        return -1;
    return config_origin(shell->config, "profile") == CONFIG_DEFAULT
               ? config_set_flag(shell->config, "profile", "open", err)
               : 0;
}

static int check_choice(const struct choice *choice, struct error *err)
{
    if (choice->remote.session && choice->is_here) {
        error_set(err, E_INVALID, "--here does not work with --session");
        return error_hint(err, "the session has the directories that it was opened with");
    }
    if (choice->remote.session || (!choice->remote.server && !choice->remote.token_file))
        return 0;
    error_set(err, E_INVALID, "--server and --token-file need --session NAME");
    return error_hint(err, "`belljar session list` shows the sessions of the server");
}

static int start(struct shell *shell, struct choice *choice, struct error *err)
{
    if (check_choice(choice, err) < 0)
        return -1;
    if (config_load(shell->config, choice->config, err) < 0 ||
        (choice->is_here && start_in_place(shell, err) < 0))
        return -1;
    if (choice->language && language_read(choice->language, &shell->language, err) < 0)
        return -1;
    buf_init(&shell->text, (size_t)shell->config->code_bytes);
    output_sink_init(&shell->out, STDOUT_FILENO, shell->config->color);
    output_sink_init(&shell->err, STDERR_FILENO, shell->config->color);
    shell->has_color = terminal_has_color(STDERR_FILENO, shell->config->color);
    remote_init(&choice->remote);
    if (pick_pictures(shell, choice->save, err) < 0 ||
        (choice->remote.session ? backend_remote_open(shell, &choice->remote, err)
                                : open_here(shell, err)) < 0)
        return -1;
    consent_open(&shell->consent);
    shell->consent.on_closed = shell_on_answered;
    shell->consent.user = shell;
    shell->typed.on_line = shell_on_typed;
    shell->typed.user = shell;
    output_sink_follow(&shell->out, shell->engine.loop, shell_hold, shell);
    output_sink_follow(&shell->err, shell->engine.loop, shell_hold, shell);
    if (open_editor(shell, err) < 0)
        return -1;
    if (shell->remote)
        backend_remote_greet(shell);
    return 0;
}

/* The cells end with their session, the session with its pool; then nothing of it is left that
 * could still write. */
static void shell_done(struct shell *shell)
{
    shell->is_over = true;
    editor_free(shell->editor);
    if (shell->sessions)
        sessions_end(shell->sessions);
    pool_free(take_ptr(shell->engine.pool));
    sessions_free(shell->sessions);
    backend_remote_free(shell);
    consent_done(&shell->consent); /* before its loop, as the next three */
    typed_line_done(&shell->typed);
    output_sink_done(&shell->out);
    output_sink_done(&shell->err);
    engine_close(&shell->engine);
    store_free(shell->store);
    run_request_done(&shell->asked);
    profiles_free(shell->profiles);
    config_free(shell->config);
    buf_done(&shell->text);
    for (size_t i = 0; i < shell->n_names; i++)
        free(shell->names[i]);
    free(shell->pictures);
}

static void choice_done(struct choice *choice)
{
    remote_done(&choice->remote);
}

int cmd_shell(int argc, char **argv)
{
    cleanup(shell_done) struct shell shell = {.config = config_new(),
                                              .out = OUTPUT_SINK_NONE,
                                              .err = OUTPUT_SINK_NONE,
                                              .consent = {.terminal = -1}};
    cleanup(choice_done) struct choice choice = {0};
    struct error err = {0};
    int r;

    backend_local_init(&shell.local, &shell);
    shell.backend = &shell.local.base;
    if (!shell.config) {
        error_memory(&err);
        return cmd_fail_run(&err);
    }
    config_follow_machine(shell.config);
    r = parse(&shell, &choice, argc, argv);
    if (r > 0)
        return r - 1;
    if (start(&shell, &choice, &err) < 0 || loop_until_end(&shell, &err) < 0)
        return cmd_fail_run(&err);
    return shell.exit_code;
}
