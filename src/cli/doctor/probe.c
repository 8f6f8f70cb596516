/* The only recorder of a layer: a sandbox that was made here and ran a program. */
#include <string.h>

#include "admit/admit.h"
#include "base/cleanup.h"
#include "base/stream.h"
#include "cli/doctor/doctor.h"

/* The first sandbox waits for the whole data stack to be imported, maybe from a slow disk. */
#define PATIENCE_MS 120000

struct trial {
    struct doctor *doctor;
    struct run *run;
    bool is_done;
};

static void on_done(struct run *run)
{
    struct trial *trial = run->user;

    trial->is_done = true;
    loop_stop(trial->doctor->engine.loop);
}

static void on_patience_over(void *arg)
{
    loop_stop(arg);
}

/* On time out the run is still the pool's; closing the engine gives it back. */
static int wait_for(struct trial *trial, struct error *err)
{
    struct engine *engine = &trial->doctor->engine;
    struct loop_watch *patience = loop_timer(engine->loop, on_patience_over, engine->loop);
    int r = 0;

    if (!patience)
        return error_memory(err);
    loop_timer_start(patience, PATIENCE_MS);
    trial->run->user = trial;
    trial->run->on_done = on_done;
    if (pool_submit(engine->pool, trial->run) < 0)
        pool_refuse(engine->pool, trial->run);
    if (!trial->is_done)
        r = loop_run(engine->loop, err);
    loop_watch_free(patience);
    if (r == 0 && !trial->is_done)
        r = error_set(err, E_SYSTEM, "no sandbox answered within %d s", PATIENCE_MS / 1000);
    if (!trial->is_done)
        engine_close(engine);
    return r;
}

static int check_answer(struct run *run, struct error *err)
{
    cleanup(buf_done) struct buf out = BUF_OF(KIB);

    if (run->result.error.code != E_NONE) {
        error_move(err, &run->result.error);
        return -1;
    }
    if (run->result.status == RUN_SUCCESS && run_stream_render(&run->result.out, &out, NULL) == 0 &&
        strcmp(buf_str(&out), "1\n") == 0)
        return 0;
    error_set(err, E_INTERNAL, "`print(1)` in a sandbox ended as `%s` with exit code %d",
              run_status_name(run->result.status), run->result.exit_code);
    if (run->result.exception.message)
        return error_hint(err, "it said: %s", run->result.exception.message);
    return error_hint(err, "run `belljar run -c 'print(1)'` to see its output");
}

/* A program that may need a module goes to the zygote that has imported them, and waits until it
 * has: the report says which are missing. */
static const char with_modules[] =
    "try:\n    import belljar_doctor\nexcept ImportError:\n    pass\n"
    "print(1)\n";

static int run_trial(struct trial *trial, const struct profile *profile, bool accepts_less,
                     struct error *err)
{
    struct run *run = trial->run;

    if (buf_add_str(&run->program.code, accepts_less ? with_modules : "print(1)\n", err) < 0 ||
        admit_run(run, trial->doctor->config, profile, err) < 0)
        return -1;
    if (accepts_less)
        run->terms.required_layers = 0;
    if (wait_for(trial, err) < 0 || check_answer(run, err) < 0)
        return -1;
    trial->doctor->layers |= run->result.layers;
    return 0;
}

/* `accepts_less`: whatever stands is to be seen, so the profile's own demands do not count. */
static int try_profile(struct doctor *doctor, const char *name, bool accepts_less,
                       struct error *err)
{
    struct trial trial = {.doctor = doctor};
    struct profile *profile = NULL;
    int r = -1;

    if (config_set_flag(doctor->config, "profile", name, err) < 0 ||
        admit_load_profile(doctor->config, &profile, err) < 0)
        return -1;
    trial.run = run_new();
    if (trial.run)
        r = run_trial(&trial, profile, accepts_less, err);
    else
        error_memory(err);
    run_free(trial.run);
    profile_free(profile);
    return r;
}

static int open_engine(struct doctor *doctor, struct error *err)
{
    struct run_limits limits = {0};

    admit_limits(doctor->config, NULL, &limits);
    return engine_open(&doctor->engine, doctor->config, &(struct engine_stock){.warm = true},
                       &limits, err);
}

void doctor_probe(struct doctor *doctor)
{
    if (open_engine(doctor, &doctor->error) == 0 &&
        try_profile(doctor, "open", true, &doctor->error) == 0) {
        doctor->can_run = true;
        (void)try_profile(doctor, "strict", false, &doctor->strict_error);
    }
    /* A host that runs nothing is asked about its cgroups all the same. */
    if (!doctor->engine.cgroups)
        (void)cgroup_host_open(&doctor->engine.cgroups, NULL);
}
