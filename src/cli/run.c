/* belljar run, belljar exec: one program, one sandbox, and the program's own exit code. */
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
#include "cli/flags.h"
#include "cli/run_command.h"
#include "cli/run_hints.h"

int run_command_fail(const struct run_command *job, struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(MIB);
    json_t *object = job->is_json ? error_json(err, HINT_FOR_CLI) : NULL;

    if (object && json_text_dump(object, JSON_TEXT_PRETTY, &text, NULL) == 0)
        (void)file_write_all(STDOUT_FILENO, buf_str(&text), text.len);
    json_decref(object);
    return cmd_fail_run(err);
}

/* --- what is to be run --- */

/* For commands, and for programs of the user's own, which import what they like: unless somebody
 * has chosen a profile, it is the one without a list of modules. A server is told so. */
static int choose_profile(struct run_command *job, struct error *err)
{
    if ((job->kind != RUN_KIND_EXEC && !job->request.is_here) ||
        config_origin(job->config, "profile") != CONFIG_DEFAULT)
        return 0;
    if (job->kind == RUN_KIND_EXEC && job->remote.n_flags < REMOTE_FLAGS_MAX) {
        job->remote.flags[job->remote.n_flags++] = "profile";
        job->remote.is_profile_usual = true;
    }
    return config_set_flag(job->config, "profile", "open", err);
}

/* As python3 does, unless the program itself comes that way. A terminal is not passed on: what was
 * typed ahead belongs to the shell. */
static int pass_input(struct run_command *job, struct error *err)
{
    const struct run_source *source = &job->request.source;
    bool is_program =
        !source->code && !source->command && (!source->file || strcmp(source->file, "-") == 0);

    if (source->input || is_program || job->terminal.is_wanted || job->asked.is_check ||
        !run_input_is_there())
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
        return error_hint(err,
                          "add `--apply`: it is about changes that a diff does not show in full");
    }
    if (has_cow || (!job->applies && !job->has_diffs))
        return 0;
    error_set(err, E_INVALID, "%s is for directories granted with :cow",
              job->applies ? "--apply" : "--diff");
    return error_hint(err, "use `--allow DIR:cow`; changes in :rw directories are written at once");
}

/* As with python3, a program that reads its input reads from the terminal, unless its own text came
 * from there. */
static bool can_type(const struct run_command *job)
{
    const struct run_source *source = &job->request.source;
    bool is_from_input =
        !source->code && !source->command && (!source->file || strcmp(source->file, "-") == 0);

    return !job->is_json && !job->terminal.is_wanted && !source->input && !is_from_input &&
           typed_line_is_possible();
}

static int prepare(struct run_command *job, struct error *err)
{
    const struct run_arguments *request = &job->request;
    struct admission admission = {
        .config = job->config,
        .has_settings_grants = true,
        .has_skills = true,
        .may_keep = true,
        .keeper = TOKEN_FIRST,
    };

    if (profiles_open(job->config, &job->profiles, err) < 0 ||
        run_source_read(&request->source, job->config, &job->text, &job->asked, err) < 0 ||
        run_files_ask(&job->files, &job->asked, err) < 0)
        return -1;
    if (request->save && save_open(&job->save, request->save, request->source.file, err) < 0)
        return -1;
    job->store = store_open_usual(NULL); /* where there is no place for it, nothing is kept */
    job->asked.can_ask = job->consent.terminal >= 0;
    job->asked.can_type = can_type(job);
    admission.profiles = job->profiles;
    admission.store = job->store;
    if (admit_request(&admission, &job->asked, &job->run, err) < 0 || check_cow(job, err) < 0)
        return -1;
    job->run->terms.keeps_overlays = true;
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
    struct run_command *job = user;

    pause_output(job, false);
    typed_line_pause(&job->typed, false);
}

/* Enter was pressed, and the terminal has shown it. */
static void on_line(void *user)
{
    struct run_command *job = user;

    job->out.is_in_line = job->err.is_in_line = false;
}

static void on_terminal(struct run *run, int master)
{
    struct run_command *job = run->user;

    run_terminal_begin(&job->terminal, job->engine.loop, master);
}

static void on_event(struct run *run, const struct run_event *event)
{
    struct run_command *job = run->user;

    if (event->kind == RUN_EVENT_APPROVAL) {
        consent_ask(&job->consent, job->engine.loop, event->approval);
        pause_output(job, consent_is_open(&job->consent));
        typed_line_pause(&job->typed, consent_is_open(&job->consent));
    } else if (event->kind == RUN_EVENT_INPUT) {
        typed_line_want(&job->typed, job->engine.loop, event->input);
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

/* For a person, who would otherwise have to look for the id. */
static void say_undo(const struct run_command *job)
{
    const struct run_changes *c = &job->run->result.changes;
    const struct {
        uint64_t count;
        const char *what;
    } parts[] = {{c->created, "created"},
                 {c->changed, "changed"},
                 {c->renamed, "renamed"},
                 {c->removed, "removed"}};
    const char *joint = "belljar: ";

    if (!job->err.is_terminal || job->remote.result || !c->is_known || !c->has_undo)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        if (!parts[i].count)
            continue;
        (void)fprintf(stderr, "%s%" PRIu64 " %s", joint, parts[i].count, parts[i].what);
        joint = ", ";
    }
    if (*joint == ',')
        (void)fprintf(stderr, "; `belljar undo %s` undoes this\n", job->run->id);
}

/* On a terminal always; elsewhere only what the program's own output cannot tell. */
static void print_human(struct run_command *job)
{
    cleanup(buf_done) struct buf text = BUF_OF(SIZE_MAX / 2);
    const struct run *run = job->run;
    bool has_color = terminal_has_color(STDERR_FILENO, job->config->color);

    say_dropped(job);
    if (((!job->err.is_terminal || job->terminal.is_wanted) &&
                 (run->result.status == RUN_SUCCESS || run->result.status == RUN_ERROR)
             ? result_brief(run, has_color, &text, NULL)
             : result_human(run, has_color, &text, NULL)) == 0)
        (void)file_write_all(STDERR_FILENO, buf_str(&text), text.len);
    say_undo(job);
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
        return run_command_fail(job, &job->run->result.error);
    run_hints_add(job->run, job->asked.filename, job->remote.result);
    if (job->asked.can_type && !job->remote.session)
        run_hints_add_typing(job->run);
    if (!job->is_json)
        print_human(job);
    if (!job->is_json && job->asked.is_check && job->run->result.status == RUN_SUCCESS)
        (void)puts("no problems found");
    if (!job->is_json)
        print_receipt(job);
    if (print_pictures(job, &err) < 0 || (job->is_json && print_json(job, &err) < 0))
        return cmd_fail_run(&err);
    r = run_status_exit(job->run);
    if (run_files_save(&job->files, job->run, job->remote.result) > 0 && r == 0)
        r = CMD_EXIT_OWN;
    return print_changes(job) > 0 ? CMD_EXIT_OWN : r;
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
    job->run->on_terminal = on_terminal;
    job->consent.on_closed = on_closed;
    job->consent.user = job;
    job->typed.on_line = on_line;
    job->typed.user = job;
    output_sink_follow(&job->out, job->engine.loop, on_room, job);
    output_sink_follow(&job->err, job->engine.loop, on_room, job);
    if (pool_submit(job->engine.pool, job->run) < 0)
        pool_refuse(job->engine.pool, job->run);
    r = job->is_done ? 0 : loop_run(job->engine.loop, err);
    consent_done(&job->consent); /* before its loop, as the next one */
    typed_line_done(&job->typed);
    run_terminal_end(&job->terminal, &job->out);
    output_sink_unfollow(&job->out);
    output_sink_unfollow(&job->err);
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        loop_watch_free(watches[i]);
    if (r == 0 && !job->is_done)
        r = error_set(err, E_BUSY, "interrupted twice; the run was abandoned");
    return r;
}

/* --- the same on a server --- */

static int prepare_remote(struct run_command *job, struct error *err)
{
    const struct run_arguments *request = &job->request;
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
    job->asked.can_type = job->remote.session && !job->remote.is_detached &&
                          job->asked.language != RUN_COMMAND && can_type(job);
    run->program.is_typed = job->asked.can_type;
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

static int execute_remote(struct run_command *job, struct error *err)
{
    int r;

    if (prepare_remote(job, err) < 0)
        return -1;
    output_sink_init(&job->out, STDOUT_FILENO, job->config->color);
    output_sink_init(&job->err, STDERR_FILENO, job->config->color);
    job->out.is_screen = job->out.waits = job->terminal.is_wanted;
    job->run->user = job;
    if (!job->is_json)
        job->run->on_event = on_event;
    job->remote.on_line = on_line;
    job->remote.on_line_user = job;
    r = remote_run(&job->remote, job->config, &job->asked, job->run, err);
    run_terminal_end(&job->terminal, &job->out);
    return r;
}

/* -d: its id, and nothing else. */
static int start_remote(struct run_command *job, struct error *err)
{
    cleanup_json json_t *begun = NULL;

    if (job->request.save || job->asked.is_check) {
        const char *flag = job->remote.job.is_wanted ? "--job" : "-d";

        error_set(err, E_INVALID, "%s does not work with %s",
                  job->request.save ? "--save" : "--check", flag);
        return error_hint(err, "leave out %s to wait for the result", flag);
    }
    if (prepare_remote(job, err) < 0 ||
        remote_start(&job->remote, job->config, &job->asked, &begun, err) < 0)
        return -1;
    if (job->is_json)
        return cmd_print_json(begun, err);
    (void)printf("%s\n", json_string_value(json_object_get(begun, "id")));
    return fflush(stdout) == 0 ? 0 : error_errno(err, "write the id");
}

static void job_done(struct run_command *job)
{
    run_input_end(&job->input);
    run_terminal_end(&job->terminal, &job->out);
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
        overlays_unref(job->run->result.cow);
        run_free(job->run);
    }
    run_request_done(&job->asked);
    run_files_done(&job->files);
    run_text_done(&job->text);
    profiles_free(job->profiles);
    config_free(job->config);
}

/* With -t nothing is asked: keys are the program's. A server is used only where the command line
 * names one. */
static int open_terminal(struct run_command *job, struct error *err)
{
    job->asked.has_terminal = true;
    job->consent.terminal = -1;
    return run_terminal_open(&job->terminal, err) < 0 ? -1
                                                      : run_terminal_describe(&job->asked, err);
}

static int run_command(enum run_kind kind, int argc, char **argv)
{
    cleanup(job_done) struct run_command job = {.kind = kind,
                                                .config = config_new(),
                                                .save = {.dir = -1},
                                                .input = RUN_INPUT_NONE,
                                                .terminal = RUN_TERMINAL_NONE,
                                                .files = RUN_FILES_NONE,
                                                .out = OUTPUT_SINK_NONE,
                                                .err = OUTPUT_SINK_NONE};
    struct error err = {0};
    int r;

    if (!job.config) {
        error_memory(&err);
        return cmd_fail_run(&err);
    }
    config_follow_machine(job.config);
    r = run_options_parse(&job, argc, argv);
    if (r > 0)
        return r - 1;
    if (job.terminal.is_wanted && open_terminal(&job, &err) < 0)
        return run_command_fail(&job, &err);
    if (!job.terminal.is_wanted) {
        remote_init(&job.remote);
        consent_open(&job.consent);
    }
    if (job.terminal.is_wanted && (job.remote.server || job.remote.session))
        job.remote.terminal = &job.terminal;
    job.remote.consent = &job.consent;
    job.remote.files = job.files.body;
    if (config_load(job.config, job.request.config, &err) < 0 || choose_profile(&job, &err) < 0)
        return run_command_fail(&job, &err);
    if (job.remote.is_detached)
        return start_remote(&job, &err) < 0 ? run_command_fail(&job, &err) : 0;
    job.remote.is_local = job.request.is_here || job.request.config || job.applies || job.has_diffs;
    if (remote_is_wanted(&job.remote, job.config))
        return execute_remote(&job, &err) < 0 ? run_command_fail(&job, &err) : finish(&job);
    job.asked.has_one_stream =
        !job.terminal.is_wanted && !job.is_json && !job.asked.wants_receipt && output_sink_is_one();
    if (!job.terminal.is_wanted && !job.is_json && !job.asked.has_seed &&
        run_terminal_describe_size(&job.asked, &err) < 0)
        return run_command_fail(&job, &err);
    if ((job.request.is_here && flags_grant_here(job.config, &err) < 0) ||
        pass_input(&job, &err) < 0 || start_engine(&job, &err) < 0 || prepare(&job, &err) < 0)
        return run_command_fail(&job, &err);
    output_sink_init(&job.out, STDOUT_FILENO, job.config->color);
    output_sink_init(&job.err, STDERR_FILENO, job.config->color);
    job.out.is_screen = job.terminal.is_wanted;
    r = execute(&job, &err);
    run_input_end(&job.input);
    if (job.run->terms.n_grants)
        engine_end(&job.engine);
    if (r == 0)
        r = settle_changes(&job, &err);
    return r < 0 ? run_command_fail(&job, &err) : finish(&job);
}

int cmd_run(int argc, char **argv)
{
    return run_command(RUN_KIND_RUN, argc, argv);
}

int cmd_exec(int argc, char **argv)
{
    return run_command(RUN_KIND_EXEC, argc, argv);
}
