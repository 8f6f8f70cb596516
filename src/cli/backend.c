#include "cli/backend.h"

#include <string.h>
#include <unistd.h>

#include "admit/admit.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/paths.h"

void backend_open_log(const struct config *config, enum log_level usual)
{
    enum log_level asked = log_level_of(config->log_level);

    log_open(STDERR_FILENO, strcmp(config->log_format, "json") == 0 ? LOG_JSON : LOG_TEXT,
             asked == LOG_INFO ? usual : asked);
}

int backend_open_engine(struct backend *back, const struct engine_stock *stock, struct error *err)
{
    struct engine_stock filled = *stock;
    const struct profile *profile;
    struct run_limits limits;

    if (profiles_open(back->config, &back->profiles, err) < 0 ||
        profiles_get(back->profiles, NULL, &profile, err) < 0)
        return -1;
    admit_limits(back->config, profile, &limits);
    filled.policies = profiles_usual(back->profiles);
    return engine_open(&back->engine, back->config, &filled, &limits, err);
}

int backend_open_sessions(struct backend *back, const struct recorder_options *recorder,
                          const struct sessions_options *sessions, struct error *err)
{
    if (engine_open_trail(&back->engine, back->config, recorder, err) < 0 ||
        engine_open_guard(&back->engine, err) < 0)
        return -1;
    return engine_open_sessions(&back->engine, sessions, err);
}

/* Whole outputs go to files without a name beside our state; where that is no place for them, to
 * memory. */
static int open_spools(struct backend *back, struct error *err)
{
    cleanup_free char *dir = paths_state(".", NULL);

    return spool_directory_new(dir, LIMIT_SPOOL_TOTAL, &back->spools, err);
}

int backend_open_jobs(struct backend *back, const struct queue_options *queue,
                      struct jobs_options *jobs, struct error *err)
{
    const struct engine *engine = &back->engine;

    if (open_spools(back, err) < 0 || queue_new(engine->loop, queue, &back->queue, err) < 0)
        return -1;
    jobs->loop = engine->loop;
    jobs->pool = engine->pool;
    jobs->sessions = engine->sessions;
    jobs->recorder = engine->recorder;
    jobs->metrics = &back->metrics;
    jobs->queue = back->queue;
    jobs->spools = back->spools;
    if (jobs_new(jobs, &back->jobs, err) < 0)
        return -1;
    /* In a machine all tokens look alike: what one keeps, the others would find. */
    back->store = back->config->is_inside_machine ? NULL : store_open_usual(NULL);
    if (back->store)
        store_attend(back->store, engine->loop);
    back->api = (struct api){.config = back->config,
                             .loop = engine->loop,
                             .pool = engine->pool,
                             .sessions = engine->sessions,
                             .profiles = back->profiles,
                             .jobs = back->jobs,
                             .queue = back->queue,
                             .recorder = engine->recorder,
                             .metrics = &back->metrics,
                             .store = back->store};
    return 0;
}

void backend_end_jobs(struct backend *back)
{
    engine_end(&back->engine);
    queue_free(take_ptr(back->queue));
    jobs_free(take_ptr(back->jobs));
}

void backend_done(struct backend *back)
{
    backend_end_jobs(back);
    spool_directory_free(back->spools);
    store_free(back->store);
    engine_close(&back->engine);
    profiles_free(back->profiles);
    config_free(back->config);
    *back = (struct backend){0};
}
