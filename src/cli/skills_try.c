/* Code in a sandbox before it is stored: what the profile refuses, or what does not end well, is
 * found here. */
#include <signal.h>
#include <unistd.h>

#include "admit/request.h"
#include "admit/tokens.h"
#include "api/result.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/stream.h"
#include "base/terminal_text.h"
#include "cli/cmd.h"
#include "cli/skills.h"
#include "engine/engine.h"

struct trial {
    struct engine engine;
    struct profiles *profiles;
    struct run *run;
    bool is_done;
};

static void trial_done(struct trial *trial)
{
    engine_close(&trial->engine);
    run_free(trial->run);
    profiles_free(trial->profiles);
}

static void on_done(struct run *run)
{
    struct trial *trial = run->user;

    trial->is_done = true;
    loop_stop(trial->engine.loop);
}

static void on_signal(void *arg)
{
    struct trial *trial = arg;

    pool_cancel(trial->engine.pool, trial->run);
}

static int prepare(struct trial *trial, const struct stored_command *command,
                   const struct run_request *asked, struct error *err)
{
    struct admission admission = {
        .config = command->config,
        .has_skills = !asked->only_checks,
        .store = command->store,
        .keeper = TOKEN_FIRST,
    };

    if (profiles_open(command->config, &trial->profiles, err) < 0)
        return -1;
    admission.profiles = trial->profiles;
    if (admit_request(&admission, asked, &trial->run, err) < 0 ||
        engine_open(&trial->engine, command->config, &(struct engine_stock){0},
                    &trial->run->terms.limits, err) < 0)
        return -1;
    return engine_open_trail(&trial->engine, command->config,
                             &(struct recorder_options){.is_brief = true, .on_note = cmd_note},
                             err);
}

static int execute(struct trial *trial, struct error *err)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct loop_watch *watches[ARRAY_SIZE(signals)] = {0};
    int r;

    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        watches[i] = loop_watch_signal(trial->engine.loop, signals[i], on_signal, trial);
    trial->run->user = trial;
    trial->run->on_done = on_done;
    if (pool_submit(trial->engine.pool, trial->run) < 0)
        pool_refuse(trial->engine.pool, trial->run);
    r = trial->is_done ? 0 : loop_run(trial->engine.loop, err);
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        loop_watch_free(watches[i]);
    if (r == 0 && trial->run->result.error.code != E_NONE) {
        error_move(err, &trial->run->result.error);
        return -1;
    }
    return r == 0 && !trial->is_done ? error_set(err, E_BUSY, "interrupted") : r;
}

/* Prints its output and the reason for its failure, as `belljar run` does. */
static void explain(const struct stored_command *command, const struct run *run)
{
    bool has_color = terminal_has_color(STDERR_FILENO, command->config->color);
    cleanup(buf_done) struct buf said = {0}, text = {0};
    struct terminal terminal;

    buf_init(&said, 4 * LIMIT_OUTPUT_BYTES_MAX);
    buf_init(&text, 16 * LIMIT_OUTPUT_BYTES_MAX);
    terminal_begin(&terminal, false);
    if (run_stream_render(&run->result.err, &said, NULL) == 0 &&
        terminal_feed(&terminal, buf_str(&said), said.len, &text, NULL) == 0 &&
        terminal_finish(&terminal, &text, NULL) == 0 &&
        result_human(run, has_color, &text, NULL) == 0)
        (void)file_write_all(STDERR_FILENO, buf_str(&text), text.len);
}

int skills_try(const struct stored_command *command, struct span code, bool only_checks,
               struct error *err)
{
    cleanup(trial_done) struct trial trial = {0};
    const struct run_request asked = {
        .code = code, .max_code = LIMIT_CODE_BYTES, .only_checks = only_checks};

    if (prepare(&trial, command, &asked, err) < 0 || execute(&trial, err) < 0)
        return -1;
    if (trial.run->result.status == RUN_SUCCESS)
        return 0;
    explain(command, trial.run);
    if (only_checks) {
        error_set(err, E_DENIED, "its Python would not run, and nothing was stored");
        return error_hint(err, "fix it, or choose another profile with --profile");
    }
    error_set(err, E_DENIED, "the code did not run to its end, and was not stored");
    return error_hint(err, "a skill should only define functions and classes when it is run");
}
