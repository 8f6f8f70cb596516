/* belljar run: one program, one sandbox, and the program's own exit code. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "admit/tokens.h"
#include "api/changes.h"
#include "api/result.h"
#include "base/cleanup.h"
#include "base/error_json.h"
#include "base/file.h"
#include "base/json.h"
#include "base/stream.h"
#include "base/terminal_text.h"
#include "base/utf8.h"
#include "cli/changes.h"
#include "cli/cmd.h"
#include "cli/consent.h"
#include "cli/flags.h"
#include "cli/output_sink.h"
#include "cli/remote.h"
#include "cli/run_hints.h"
#include "cli/run_input.h"
#include "cli/run_source.h"
#include "cli/save_pictures.h"
#include "engine/engine.h"

struct run_command {
    struct config *config;
    struct profiles *profiles;
    struct run_request asked;
    struct run_text text; /* what it borrows */
    struct run_input input;
    struct engine engine;
    struct store *store; /* what its programs find again */
    struct remote remote;
    struct consent consent;
    bool is_held;    /* the program waits until its output is taken */
    struct run *run; /* NULL until it is admitted */
    struct output_sink out, err;
    struct save save;
    bool is_json;
    bool is_done;
    bool is_closing;  /* asked to stop once */
    bool applies;     /* what was changed in copy-on-write directories, if it ends well */
    bool has_diffs;   /* and says which lines */
    bool with_hidden; /* applies also what a diff does not show */
    json_t *changes;  /* as api/changes.h has them, or NULL */
    json_t *settled;  /* the same of what was applied */
};

/* --- options --- */

enum {
    OPT_CODE = 'c',
    OPT_LANGUAGE = 'l',
    OPT_HELP = 'h',
    OPT_WORKDIR = 'C',
    OPT_CONFIG = 256,
    OPT_ENV,
    OPT_HERE,
    OPT_STDIN,
    OPT_JSON,
    OPT_SAVE,
    OPT_AUTO_PRINT,
    OPT_CHECK,
    OPT_RECEIPT,
    OPT_ALLOW,
    OPT_APPLY,
    OPT_DIFF,
    OPT_WITH_HIDDEN,
    OPT_SEED,
    OPT_SERVER,
    OPT_SESSION,
    OPT_TOKEN_FILE,
    OPT_SETTING
};

/* Flags of this command. Those of the settings (limits, profile, environment) come from the option
 * table. */
static const struct option own_options[] = {
    {"code", required_argument, NULL, OPT_CODE},
    {"language", required_argument, NULL, OPT_LANGUAGE},
    {"help", no_argument, NULL, OPT_HELP},
    {"config", required_argument, NULL, OPT_CONFIG},
    {"env", required_argument, NULL, OPT_ENV},
    {"here", no_argument, NULL, OPT_HERE},
    {"stdin", required_argument, NULL, OPT_STDIN},
    {"json", no_argument, NULL, OPT_JSON},
    {"save", required_argument, NULL, OPT_SAVE},
    {"auto-print", no_argument, NULL, OPT_AUTO_PRINT},
    {"check", no_argument, NULL, OPT_CHECK},
    {"receipt", no_argument, NULL, OPT_RECEIPT},
    {"apply", no_argument, NULL, OPT_APPLY},
    {"diff", no_argument, NULL, OPT_DIFF},
    {"with-hidden", no_argument, NULL, OPT_WITH_HIDDEN},
    {"seed", required_argument, NULL, OPT_SEED},
    {"server", required_argument, NULL, OPT_SERVER},
    {"session", required_argument, NULL, OPT_SESSION},
    {"token-file", required_argument, NULL, OPT_TOKEN_FILE},
};

/* Everything after FILE is the program's, whatever it looks like. */
#define LETTERS "+:c:l:C:h"

static int help(void)
{
    (void)printf("usage: belljar run [OPTION]… {FILE | - | -c CODE} [ARGUMENT]…\n"
                 "Run a program in a fresh sandbox. Defaults are in parentheses.\n\n"
                 "  -c CODE               run this text\n"
                 "  -l LANGUAGE           python or bash (by FILE's suffix or #! line)\n"
                 "  --here                see the current directory, start there, in profile open\n"
                 "  --env NAME=VALUE      set an environment variable; repeatable\n"
                 "  --stdin FILE          standard input of the program (a pipe or file here)\n"
                 "  --auto-print          print the value of the last expression\n"
                 "  --check               run nothing; tell what would be refused or is missing\n"
                 "  --json                print the result as one JSON object\n"
                 "  --save DIR            save pictures as files in DIR\n"
                 "  --seed N              make the output the same every time\n"
                 "  --receipt             print a signed receipt of the run\n"
                 "  --diff                show the changes made in DIR:cow directories\n"
                 "  --apply               write those changes to the disk\n"
                 "  --with-hidden         with --apply: also what the diff does not show\n"
                 "  --server URL          run it on a server (http://, https://, unix:PATH, auto)\n"
                 "  --session NAME        run it as a cell of this session on the server\n"
                 "  --token-file FILE     file with the token for the server\n"
                 "  --config FILE         read this file instead of the usual ones\n");
    config_print_flags(stdout, "run");
    (void)printf("exit: the program's own; 124 time, 137 memory, 126 refused, 125 Belljar failed\n"
                 "example: belljar run --timeout 5 --memory 256 analysis.py\n");
    return 0;
}

struct arguments {
    struct run_source source;
    const char *config;
    const char *save;
    bool is_here; /* the current directory is granted */
};

/* FILE and its arguments; with -c there are only arguments. */
static int add_program(struct run_command *job, struct arguments *request, char **words,
                       struct error *err)
{
    size_t bytes = 0;

    if (!request->source.code)
        job->asked.filename = request->source.file = *words++;
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

/* Belljar's own failure: words for people, and the object where one was asked for. Returns the exit
 * code. */
static int fail(const struct run_command *job, struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(MIB);
    json_t *object = job->is_json ? error_json(err, HINT_FOR_CLI) : NULL;

    if (object && json_text_dump(object, JSON_TEXT_PRETTY, &text, NULL) == 0)
        (void)file_write_all(STDOUT_FILENO, buf_str(&text), text.len);
    json_decref(object);
    return cmd_fail_run(err);
}

/* A mistake in an option that stands before --json is answered in its form, too. */
static bool wants_json(const struct option *options, int argc, char **argv)
{
    bool is_json = false;
    int answer;

    opterr = 0;
    while ((answer = cmd_getopt(argc, argv, LETTERS, options, NULL)) >= 0)
        is_json |= answer == OPT_JSON;
    optind = 0; /* to be read again */
    return is_json;
}

/* False: it is none of those that are only written down. */
static bool put_option(struct run_command *job, struct arguments *request, int answer)
{
    const struct cmd_place places[] = {
        {OPT_CODE, .word = &request->source.code},
        {OPT_LANGUAGE, .word = &request->source.language},
        {OPT_CONFIG, .word = &request->config},
        {OPT_STDIN, .word = &request->source.input},
        {OPT_SAVE, .word = &request->save},
        {OPT_SERVER, .word = &job->remote.server},
        {OPT_SESSION, .word = &job->remote.session},
        {OPT_TOKEN_FILE, .word = &job->remote.token_file},
        {OPT_JSON, .flag = &job->is_json},
        {OPT_AUTO_PRINT, .flag = &job->asked.auto_print},
        {OPT_CHECK, .flag = &job->asked.is_check},
        {OPT_RECEIPT, .flag = &job->asked.wants_receipt},
        {OPT_APPLY, .flag = &job->applies},
        {OPT_DIFF, .flag = &job->has_diffs},
        {OPT_WITH_HIDDEN, .flag = &job->with_hidden},
        {OPT_HERE, .flag = &request->is_here},
    };

    return cmd_put(places, ARRAY_SIZE(places), answer);
}

/* A server is told only what was said here; its own settings hold for the rest. */
static int set_flag(struct run_command *job, const char *name, struct error *err)
{
    if (job->remote.n_flags < REMOTE_FLAGS_MAX)
        job->remote.flags[job->remote.n_flags++] = name;
    return config_set_flag(job->config, name, optarg, err);
}

/* Returns 0, or the exit code + 1 when there is nothing more to do. */
static int parse(struct run_command *job, struct arguments *request, int argc, char **argv)
{
    struct option options[FLAGS_OPTIONS_MAX];
    struct error err = {0};
    int answer, index, r = 0;

    flags_options("run", own_options, ARRAY_SIZE(own_options), OPT_SETTING, options);
    job->is_json = wants_json(options, argc, argv);
    while (r == 0 && (answer = cmd_getopt(argc, argv, LETTERS, options, &index)) >= 0) {
        if (put_option(job, request, answer))
            continue;
        switch (answer) {
        case OPT_HELP:
            return help() + 1;
        case OPT_ENV:
            r = flags_add_env(&job->asked, optarg, &err);
            break;
        case OPT_SEED:
            r = read_seed(optarg, &job->asked, &err);
            break;
        case OPT_WORKDIR:
            r = set_flag(job, "workdir", &err);
            break;
        case OPT_SETTING:
            r = set_flag(job, options[index].name, &err);
            break;
        default:
            return cmd_bad_option("run", answer, argv, options) + 1;
        }
    }
    if (r == 0 && optind < argc)
        r = add_program(job, request, argv + optind, &err);
    if (r == 0 && job->asked.is_check && job->remote.session)
        r = error_set(&err, E_INVALID, "--check checks a whole program; leave out --session");
    return r < 0 ? fail(job, &err) + 1 : 0;
}

/* --- what is to be run --- */

/* Whether a grant of the command line names the directory. */
static bool is_allowed(const struct config *config, const char *dir)
{
    bool is_found = false;

    for (size_t i = 0; i < config->allow.count && !is_found; i++) {
        cleanup_free char *path = NULL, *real = NULL;
        enum run_grant_mode mode;

        if (config_parse_grant(config->allow.items[i], &path, &mode, NULL) < 0)
            continue;
        real = realpath(path, NULL);
        is_found = real && strcmp(real, dir) == 0;
    }
    return is_found && config_origin(config, "allow") == CONFIG_FLAG;
}

/* --here: for programs of the user's own, which import what they like. Unless somebody has chosen a
 * profile, it is the one without a list of modules. */
static int grant_here(struct config *config, struct error *err)
{
    cleanup_free char *here = getcwd(NULL, 0), *grant = NULL;

    if (!here)
        return error_errno(err, "--here: the current directory");
    if (asprintf(&grant, "%s:ro", here) < 0) {
        grant = NULL;
        return error_memory(err);
    }
    if (!is_allowed(config, here) && config_set_flag(config, "allow", grant, err) < 0)
        return -1;
    if (config_origin(config, "workdir") != CONFIG_FLAG &&
        config_set_flag(config, "workdir", here, err) < 0)
        return -1;
    if (config_origin(config, "profile") == CONFIG_DEFAULT)
        return config_set_flag(config, "profile", "open", err);
    return 0;
}

/* As python3 does, unless the program itself comes that way. A terminal is not passed on: what was
 * typed ahead belongs to the shell. */
static int pass_input(struct run_command *job, const struct run_source *source, struct error *err)
{
    bool is_program = !source->code && (!source->file || strcmp(source->file, "-") == 0);

    if (source->input || is_program || job->asked.is_check || !run_input_is_there())
        return 0;
    return run_input_start(&job->input, err);
}

/* The zygote starts Python while we read the profile and the program. A sandbox is made to order:
 * nothing waits in advance, and nothing is imported that the program does not import. */
static int start_engine(struct run_command *job, struct error *err)
{
    struct run_limits limits;

    run_limits_init(&limits);
    if (engine_open(&job->engine, job->config,
                    &(struct engine_stock){.steady = job->asked.has_seed}, &limits, err) < 0)
        return -1;
    return engine_open_trail(&job->engine, job->config,
                             &(struct recorder_options){.is_brief = true, .on_note = cmd_note},
                             err);
}

/* A flag that could not do anything is a mistake, and one that would be noticed too late. */
static int check_cow(const struct run_command *job, struct error *err)
{
    bool has_cow = false;

    for (size_t i = 0; i < job->run->terms.n_grants; i++)
        has_cow |= job->run->terms.grants[i].mode == RUN_GRANT_COW;
    if (job->with_hidden && !job->applies) {
        error_set(err, E_INVALID, "--with-hidden needs --apply");
        return error_hint(err, "it applies changes that a diff does not show in full");
    }
    if (has_cow || (!job->applies && !job->has_diffs))
        return 0;
    error_set(err, E_INVALID, "%s is for directories granted with :cow",
              job->applies ? "--apply" : "--diff");
    return error_hint(err, "use `--allow DIR:cow`; changes in :rw directories are written at once");
}

static int prepare(struct run_command *job, struct arguments *request, struct error *err)
{
    struct admission admission = {
        .config = job->config,
        .has_settings_grants = true,
        .has_skills = true,
        .may_keep = true,
        .keeper = TOKEN_FIRST,
    };

    if (profiles_open(job->config, &job->profiles, err) < 0 ||
        run_source_read(&request->source, job->config, &job->text, &job->asked, err) < 0)
        return -1;
    if (request->save && save_open(&job->save, request->save, request->source.file, err) < 0)
        return -1;
    job->store = store_open_usual(NULL); /* where there is no place for it, nothing is kept */
    job->asked.can_ask = job->consent.terminal >= 0;
    admission.profiles = job->profiles;
    admission.store = job->store;
    if (admit_request(&admission, &job->asked, &job->run, err) < 0 || check_cow(job, err) < 0)
        return -1;
    job->run->terms.keeps_layers = true;
    job->run->is_unmetered = true;
    if (job->input.fd >= 0) {
        job->run->program.has_input = job->run->program.is_input_passed = true;
        job->run->program.input_fd = job->input.fd;
    }
    return run_source_place(&request->source, job->run, err);
}

/* --- what comes back --- */

static void stop(struct run_command *job)
{
    if (job->engine.pool)
        pool_cancel(job->engine.pool, job->run);
    else
        remote_cancel(&job->remote);
}

/* The program waits while our readers do not take what it wrote, and while a question is open: its
 * words could pass for the question. */
static void hold(struct run_command *job)
{
    bool is_held = consent_is_open(&job->consent) || output_sink_is_behind(&job->out) ||
                   output_sink_is_behind(&job->err);

    if (job->out.failure || job->err.failure)
        stop(job); /* nobody reads us any more */
    if (is_held != job->is_held)
        pool_hold(job->run, is_held);
    job->is_held = is_held;
}

static void pause_output(struct run_command *job, bool is_paused)
{
    (void)output_sink_pause(&job->out, is_paused);
    (void)output_sink_pause(&job->err, is_paused);
    hold(job);
}

static void on_room(void *user)
{
    hold(user);
}

static void on_closed(void *user)
{
    pause_output(user, false);
}

static void on_event(struct run *run, const struct run_event *event)
{
    struct run_command *job = run->user;

    if (event->kind == RUN_EVENT_APPROVAL) {
        consent_ask(&job->consent, job->engine.loop, event->approval);
        pause_output(job, consent_is_open(&job->consent));
    } else if (!job->is_json) {
        (void)output_sink_pass(event->kind == RUN_EVENT_STDERR ? &job->err : &job->out, event);
        hold(job);
    }
}

static int print_json(const struct run_command *job, struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(SIZE_MAX / 2);
    json_t *object = json_incref(job->remote.result);
    int r;

    if (!object && result_json(job->run, HINT_FOR_CLI, &object, err) < 0)
        return -1;
    if (job->changes)
        (void)json_object_set(object, "changes", json_object_get(job->changes, "changes"));
    if (job->settled)
        (void)json_object_set(object, "applied", job->settled);
    r = json_text_dump(object, JSON_TEXT_PRETTY, &text, err);
    json_decref(object);
    if (r == 0 && file_write_all(STDOUT_FILENO, buf_str(&text), text.len) < 0)
        r = error_errno(err, "write the result");
    return r;
}

/* A server keeps the beginning and the end of long output. */
static void say_dropped(const struct run_command *job)
{
    static const char *const names[] = {"stdout", "stderr"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (job->remote.dropped[i])
            (void)fprintf(stderr,
                          "belljar: the server dropped %" PRIu64
                          " bytes in the middle of the program's %s\n"
                          "hint: raise --output, or run without --server to get all of it\n",
                          job->remote.dropped[i], names[i]);
}

/* On a terminal always; elsewhere only what the program's own output cannot tell. */
static void print_human(struct run_command *job)
{
    cleanup(buf_done) struct buf text = BUF_OF(SIZE_MAX / 2);
    const struct run *run = job->run;
    bool has_color = terminal_has_color(STDERR_FILENO, job->config->color);

    say_dropped(job);
    if ((!job->err.is_terminal &&
                 (run->result.status == RUN_SUCCESS || run->result.status == RUN_ERROR)
             ? result_brief(run, has_color, &text, NULL)
             : result_human(run, has_color, &text, NULL)) == 0)
        (void)file_write_all(STDERR_FILENO, buf_str(&text), text.len);
}

static int print_pictures(struct run_command *job, struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(MIB);
    int r;

    if (job->is_json && job->save.dir < 0)
        return 0;
    r = save_pictures(&job->save, job->run, &text, err);
    (void)file_write_all(STDERR_FILENO, buf_str(&text), text.len);
    return r;
}

/* Of a server, in its result. */
static void print_receipt(const struct run_command *job)
{
    json_t *object = json_object_get(job->remote.result, "receipt");
    cleanup_free char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;

    if (job->run->result.receipt || text)
        (void)fprintf(stderr, "%s\n", text ? text : job->run->result.receipt);
}

/* --- copy-on-write directories --- */

/* When nothing of the sandbox lives any more. What is not applied ends here. */
static int settle_changes(struct run_command *job, struct error *err)
{
    struct run *run = job->run;
    const struct changes_wish show = {
        .action = CHANGES_SHOW, .has_diffs = job->has_diffs, .room = LIMIT_DIFF_READ};
    struct changes_wish apply = {
        .action = CHANGES_APPLY, .accepts_all_hidden = job->with_hidden, .room = LIMIT_DIFF_READ};

    if (!run->result.cow || run->result.error.code != E_NONE)
        return 0;
    if (changes_do(run->result.cow, mask_context_of(run), &show, &job->changes, err) < 0)
        return error_wrap(err, "read the changes");
    if (!job->applies || run->result.status != RUN_SUCCESS)
        return 0;
    apply.version = json_string_value(json_object_get(job->changes, "version"));
    if (changes_do(run->result.cow, mask_context_of(run), &apply, &job->settled, err) < 0)
        return error_wrap(err, "apply the changes");
    return 0;
}

/* Returns how many changes were to be applied and are not. */
static size_t print_changes(const struct run_command *job)
{
    bool has_color = terminal_has_color(STDERR_FILENO, job->config->color);
    size_t count = json_array_size(json_object_get(job->changes, "changes"));

    if (!count)
        return 0;
    if (!job->is_json)
        (void)changes_print(stderr, job->changes, has_color);
    if (job->settled && !job->is_json)
        return changes_print_settled(stderr, job->settled, "applied");
    if (job->settled)
        return json_array_size(json_object_get(job->settled, "skipped"));
    if (!job->is_json)
        (void)fprintf(stderr, job->run->result.status == RUN_SUCCESS
                                  ? "nothing was applied; --apply writes it\n"
                                  : "nothing was applied: the program did not succeed\n");
    return 0;
}

/* Writes what our readers have not taken yet. Returns 0, or the exit code of a run whose output
 * cannot be written, as that of a program that is killed by SIGPIPE. */
static int finish_output(struct run_command *job)
{
    struct error err = {0};

    if (job->is_json)
        return 0;
    (void)output_sink_finish(&job->out);
    (void)output_sink_finish(&job->err);
    if (job->out.failure == EPIPE || job->err.failure == EPIPE)
        return 128 + SIGPIPE;
    if (output_sink_check(&job->out, "standard output", &err) < 0 ||
        output_sink_check(&job->err, "standard error", &err) < 0)
        return cmd_fail_run(&err);
    return 0;
}

static int finish(struct run_command *job)
{
    struct error err = {0};
    int r = finish_output(job);

    if (r > 0)
        return r;
    if (job->run->result.error.code != E_NONE)
        return fail(job, &job->run->result.error);
    run_hints_add(job->run, job->asked.filename, job->remote.result);
    if (!job->is_json)
        print_human(job);
    if (!job->is_json && job->asked.is_check && job->run->result.status == RUN_SUCCESS)
        (void)puts("no problems found");
    if (!job->is_json)
        print_receipt(job);
    if (print_pictures(job, &err) < 0 || (job->is_json && print_json(job, &err) < 0))
        return cmd_fail_run(&err);
    return print_changes(job) > 0 ? CMD_EXIT_OWN : run_status_exit(job->run);
}

/* --- the run --- */

static void on_done(struct run *run)
{
    struct run_command *job = run->user;

    job->is_done = true;
    loop_stop(job->engine.loop);
}

static void on_signal(void *arg)
{
    struct run_command *job = arg;

    if (job->is_closing) /* asked twice: go, Linux cleans up behind us */
        loop_stop(job->engine.loop);
    job->is_closing = true;
    pool_cancel(job->engine.pool, job->run);
}

static int execute(struct run_command *job, struct error *err)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct loop_watch *watches[ARRAY_SIZE(signals)] = {0};
    int r;

    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        watches[i] = loop_watch_signal(job->engine.loop, signals[i], on_signal, job);
    job->run->user = job;
    job->run->on_done = on_done;
    job->run->on_event = on_event;
    job->consent.on_closed = on_closed;
    job->consent.user = job;
    output_sink_follow(&job->out, job->engine.loop, on_room, job);
    output_sink_follow(&job->err, job->engine.loop, on_room, job);
    if (pool_submit(job->engine.pool, job->run) < 0)
        pool_refuse(job->engine.pool, job->run);
    r = job->is_done ? 0 : loop_run(job->engine.loop, err);
    consent_done(&job->consent); /* before its loop */
    output_sink_unfollow(&job->out);
    output_sink_unfollow(&job->err);
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        loop_watch_free(watches[i]);
    if (r == 0 && !job->is_done)
        r = error_set(err, E_BUSY, "interrupted twice; the run was abandoned");
    return r;
}

/* --- the same on a server --- */

static int prepare_remote(struct run_command *job, struct arguments *request, struct error *err)
{
    struct run *run = job->run = run_new();

    if (!run)
        return error_memory(err);
    if (job->applies || job->has_diffs) {
        error_set(err, E_INVALID, "--apply and --diff do not work with --server");
        return error_hint(err, "use `belljar session diff` and `belljar session apply`");
    }
    if (request->config) {
        error_set(err, E_INVALID,
                  "--config does not work with a server, which has its own settings");
        return error_hint(err, "leave it out, or run without --server and --session");
    }
    if (request->is_here) {
        error_set(err, E_INVALID, "--here does not work with a server");
        return error_hint(err, "--allow names a directory on the server's machine");
    }
    if (run_source_read(&request->source, job->config, &job->text, &job->asked, err) < 0)
        return -1;
    if (request->save && save_open(&job->save, request->save, request->source.file, err) < 0)
        return -1;
    run->program.language = job->asked.language;
    run->program.has_input = job->asked.input.data != NULL;
    /* Limits are the server's but for those that were asked for, which hints name; it drops what is
     * too much, and here there is room for all that comes. */
    run->terms.limits = (struct run_limits){0};
    config_limits(job->config, CONFIG_FLAG, &run->terms.limits);
    run->terms.limits.output_bytes = LIMIT_OUTPUT_BYTES_MAX;
    run_stream_done(&run->result.out);
    run_stream_done(&run->result.err);
    run_stream_init(&run->result.out, 4 * LIMIT_OUTPUT_BYTES_MAX);
    run_stream_init(&run->result.err, 4 * LIMIT_OUTPUT_BYTES_MAX);
    return 0;
}

static int execute_remote(struct run_command *job, struct arguments *request, struct error *err)
{
    if (prepare_remote(job, request, err) < 0)
        return -1;
    output_sink_init(&job->out, STDOUT_FILENO, job->config->color);
    output_sink_init(&job->err, STDERR_FILENO, job->config->color);
    job->run->user = job;
    if (!job->is_json)
        job->run->on_event = on_event;
    return remote_run(&job->remote, job->config, &job->asked, job->run, err);
}

static void job_done(struct run_command *job)
{
    run_input_end(&job->input);
    output_sink_done(&job->out);
    output_sink_done(&job->err);
    remote_done(&job->remote);
    consent_done(&job->consent);
    engine_close(&job->engine);
    store_free(job->store);
    save_done(&job->save);
    json_decref(job->changes);
    json_decref(job->settled);
    if (job->run) {
        layers_unref(job->run->result.cow);
        run_free(job->run);
    }
    run_request_done(&job->asked);
    run_text_done(&job->text);
    profiles_free(job->profiles);
    config_free(job->config);
}

int cmd_run(int argc, char **argv)
{
    cleanup(job_done) struct run_command job = {.config = config_new(),
                                                .save = {.dir = -1},
                                                .input = RUN_INPUT_NONE,
                                                .out = OUTPUT_SINK_NONE,
                                                .err = OUTPUT_SINK_NONE};
    struct arguments request = {0};
    struct error err = {0};
    int r;

    if (!job.config) {
        error_memory(&err);
        return cmd_fail_run(&err);
    }
    r = parse(&job, &request, argc, argv);
    if (r > 0)
        return r - 1;
    remote_init(&job.remote);
    consent_open(&job.consent);
    job.remote.consent = &job.consent;
    if (config_load(job.config, request.config, &err) < 0)
        return fail(&job, &err);
    if (remote_is_wanted(&job.remote, job.config))
        return execute_remote(&job, &request, &err) < 0 ? fail(&job, &err) : finish(&job);
    if ((request.is_here && grant_here(job.config, &err) < 0) ||
        pass_input(&job, &request.source, &err) < 0 || start_engine(&job, &err) < 0 ||
        prepare(&job, &request, &err) < 0)
        return fail(&job, &err);
    output_sink_init(&job.out, STDOUT_FILENO, job.config->color);
    output_sink_init(&job.err, STDERR_FILENO, job.config->color);
    r = execute(&job, &err);
    run_input_end(&job.input);
    if (job.run->terms.n_grants)
        engine_end(&job.engine);
    if (r == 0)
        r = settle_changes(&job, &err);
    return r < 0 ? fail(&job, &err) : finish(&job);
}
