#include "api/job_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admit/access.h"
#include "admit/quota.h"
#include "admit/request.h"
#include "api/router.h"
#include "base/cleanup.h"
#include "base/id.h"
#include "base/log.h"
#include "base/share.h"
#include "base/shared.h"
#include "base/stream.h"

/* --- the table --- */

static void free_job(struct job *job)
{
    (void)task_end(&job->writing);
    job_drop_readers(job);
    TAILQ_REMOVE(&job->jobs->all, job, link);
    if (job->run)
        run_free(job->run);
    spool_free(job->spools[0]);
    spool_free(job->spools[1]);
    shared_unref(job->answer);
    buf_done(&job->code);
    sse_done(&job->events);
    if (job->form.free)
        job->form.free(job->form.user);
    free(job->correlation_id);
    free(job);
}

static bool is_old(const struct job *job)
{
    uint64_t max_ms = job->jobs->options.max_age_ms;

    return max_ms && !job->run && (loop_now_ns() - job->done_ns) / 1000000 > max_ms;
}

struct job *jobs_find(struct jobs *jobs, const char *owner, const char *id, struct error *err)
{
    for (struct job *job = TAILQ_LAST(&jobs->all, job_list); job;
         job = TAILQ_PREV(job, job_list, link))
        if (strcmp(job->id, id) == 0 && (!owner || strcmp(job->owner, owner) == 0) && !is_old(job))
            return job;
    error_set(err, E_NOT_FOUND, "there is no run with that id");
    error_hint(err, "results are kept only for a while");
    return NULL;
}

static bool is_kept(const struct job *job)
{
    return !job->run && !job->events.reader && !job->readers;
}

static void forget(struct job *job)
{
    job->jobs->n_kept--;
    job->place.caller->n_kept[job_goes_on(job)]--;
    job->jobs->kept_bytes -= job->bytes;
    job->place.caller->kept_bytes -= job->bytes;
    free_job(job);
}

/* Removes the oldest jobs of this caller while it has more, of those that go on without a client or
 * of the others, than are kept. */
static void trim(struct jobs *jobs, const struct caller *caller, bool goes_on, size_t max)
{
    for (struct job *job = TAILQ_FIRST(&jobs->all), *after; job && caller->n_kept[goes_on] > max;
         job = after) {
        after = TAILQ_NEXT(job, link);
        if (is_kept(job) && job->place.caller == caller && job_goes_on(job) == goes_on)
            forget(job);
    }
}

/* The oldest answer of whoever keeps the most bytes: nobody's answers push out those of others who
 * keep less. NULL: all of them are still being read. */
static struct job *heaviest(const struct jobs *jobs)
{
    struct job *found = NULL;

    for (struct job *job = TAILQ_FIRST(&jobs->all); job; job = TAILQ_NEXT(job, link))
        if (is_kept(job) && job->bytes &&
            (!found || job->place.caller->kept_bytes > found->place.caller->kept_bytes))
            found = job;
    return found;
}

/* Answers go: those past their time and this caller's surplus, then others while there are too many
 * bytes. Runs stand in the order in which they began, which is nearly that of their ends:
 * whoever looks for old ones need not look at all. */
static void make_room(struct jobs *jobs, const struct caller *caller)
{
    for (struct job *job = TAILQ_FIRST(&jobs->all), *after; job && (!is_kept(job) || is_old(job));
         job = after) {
        after = TAILQ_NEXT(job, link);
        if (is_kept(job))
            forget(job);
    }
    trim(jobs, caller, false, jobs->options.max_kept);
    trim(jobs, caller, true, jobs->options.max_keyed);
    while (jobs->kept_bytes > jobs->options.max_bytes) {
        struct job *job = heaviest(jobs);

        if (!job)
            break;
        forget(job);
    }
}

/* --- the end --- */

/* The one line of a run. The code and what it wrote are nobody's business here. */
static void log_run(const struct job *job, double queue_ms)
{
    const struct run *run = job->run;
    bool has_failed = run->result.error.code != E_NONE;
    char trace[33] = "";

    if (*job->traceparent)
        (void)snprintf(trace, sizeof(trace), "%.32s", job->traceparent + 3);
    LOG_EVENT(has_failed ? LOG_WARNING : LOG_INFO, "run", {"run", job->id},
              {"owner", job->place.caller->name}, {"correlation_id", job->correlation_id},
              {"trace_id", trace, .is_left_out = !*trace},
              {"session", job->session_id, .is_left_out = !*job->session_id},
              {"language", languages[run->program.language].name},
              {"profile", run->terms.profile ? run->terms.profile : "-"},
              {"status", has_failed ? "failed" : run_status_name(run->result.status)},
              {"error", has_failed ? error_code_name(run->result.error.code) : "",
               .is_left_out = !has_failed},
              {"rule", run->result.n_violations ? run->result.violations[0].rule : "",
               .is_left_out = !run->result.n_violations},
              {"violations",
               .number = (double)run->result.n_violations + run->result.violations_more,
               .is_left_out = !run->result.n_violations},
              {"exit", .number = run->result.exit_code, .is_left_out = has_failed},
              {"queue_ms", .number = queue_ms}, {"start_ms", .number = run->result.usage.start_ms},
              {"run_ms", .number = run->result.usage.wall_ms},
              {"cpu_ms", .number = run->result.usage.cpu_ms},
              {"memory_bytes", .number = (double)run->result.usage.memory_peak_bytes},
              {"output_bytes", .number = (double)(run->result.out.total + run->result.err.total)});
}

static void account(struct job *job)
{
    const struct run *run = job->run;

    uint64_t now = loop_now_ns();
    double queue_s = (double)((job->turn_ns ? job->turn_ns : now) - job->begun_ns) / 1e9;

    metrics_add_run(job->jobs->options.metrics, run, queue_s, (double)(now - job->begun_ns) / 1e9);
    log_run(job, queue_s * 1000);
    quota_spend(job->place.caller, now,
                run->result.usage.cpu_ms / 1000 + (double)run->result.server_cpu_ns / 1e9,
                (double)job->sent_bytes + (double)(run->result.out.total + run->result.err.total));
    job->place.caller->n_done++;
}

/* The callback may start the next run. */
static void tell_follower(struct job *job)
{
    struct job_follower follower = job->follower;

    job->follower = (struct job_follower){0};
    if (follower.on_done)
        follower.on_done(follower.user, job->run);
}

void job_weigh_in(struct job *job, size_t weight)
{
    job->weight += weight;
    job->jobs->pending_bytes += weight;
    job->place.caller->pending_bytes += weight;
}

static void reserve(struct job *job, size_t bytes)
{
    job->reserved = bytes;
    job->jobs->command_bytes += bytes;
    job->place.caller->command_bytes += bytes;
}

static void weigh_out(struct job *job)
{
    job->jobs->pending_bytes -= job->weight;
    job->place.caller->pending_bytes -= job->weight;
    job->jobs->command_bytes -= job->reserved;
    job->place.caller->command_bytes -= job->reserved;
    job->weight = job->reserved = 0;
}

static void write_answer(void *arg)
{
    job_write_answer(arg);
}

static void end_answer(void *arg)
{
    struct job *job = arg;
    struct jobs *jobs = job->jobs;
    struct run *run = job->run;
    struct caller *caller = job->place.caller;

    tell_follower(job);
    job->spools[0] = run_stream_take_spool(&run->result.out);
    job->spools[1] = run_stream_take_spool(&run->result.err);
    job_keep_for_readers(job, run);
    job_mask_note(job);
    job_keep_code(job, run);
    run_free(run);
    job->run = NULL;
    job->done_ns = loop_now_ns();
    jobs->n_running--;
    jobs->n_kept++;
    caller->n_kept[job_goes_on(job)]++;
    job_tell_answer(job);
    job_stream_end(job);
    job_wake_readers(job);
    job->bytes =
        job->answer->text.len + job->code.len + job->events.sent_bytes + job->events.unsent_bytes;
    jobs->kept_bytes += job->bytes;
    caller->kept_bytes += job->bytes;
    make_room(jobs, caller);
}

/* An answer may have tens of megabytes, all of the program's choice. */
static const struct task_steps answer_steps = {.work = write_answer, .done = end_answer};

static void on_done(struct run *run)
{
    struct job *job = run->user;

    weigh_out(job);
    queue_leave(job->jobs->options.queue, &job->place);
    account(job);
    job_note_end(job, run);
    job_tell_events(job);
    if (!job->form.settle) {
        task_begin(&job->writing, job->jobs->options.loop, &answer_steps, job);
        return;
    }
    job->is_settling = true;
    job->form.settle(job, run, job->form.user);
}

void job_settled(struct job *job)
{
    job->is_settling = false;
    task_begin(&job->writing, job->jobs->options.loop, &answer_steps, job);
}

/* --- starting and stopping --- */

void job_cancel(struct job *job)
{
    struct jobs *jobs = job->jobs;
    struct session *session;

    if (job->is_cancelled || !job->run || job->is_settling || task_is_under_way(&job->writing))
        return;
    job->is_cancelled = true;
    if (job->is_at_gate) /* job_pass() answers it */
        return;
    if (queue_cancel(jobs->options.queue, &job->place))
        return;
    if (!*job->session_id) {
        pool_cancel(jobs->options.pool, job->run);
        return;
    }
    /* A session that is not found any more has answered its cells; the answer is under way. */
    session = sessions_find(jobs->options.sessions, job->owner, job->session_id, NULL);
    if (session)
        session_cancel(session, job->run);
}

/* --- beginning --- */

static struct job *new_job(struct jobs *jobs, const struct job_order *order)
{
    struct job *job = calloc(1, sizeof(*job));
    struct run *run = order->run;
    char made[ID_SIZE] = "";

    if (!order->correlation_id && id_make(made, "cor_") < 0)
        made[0] = '\0';
    if (job) {
        job->correlation_id = strdup(order->correlation_id ? order->correlation_id : made);
        if (job)
            job->reader = order->reader ? order->reader : HINT_FOR_HTTP;
        job->answer = shared_new();
    }
    if (!job || !job->correlation_id || !job->answer) {
        if (job) {
            free(job->correlation_id);
            shared_unref(job->answer);
        }
        free(job);
        return NULL;
    }
    job->jobs = jobs;
    job->run = run;
    job->place.caller = order->caller;
    job->begun_ns = loop_now_ns();
    job->is_detached = order->is_detached;
    job->is_helper = order->is_helper;
    job_note_begin(job, run);
    memcpy(job->id, run->id, sizeof(job->id));
    (void)snprintf(job->owner, sizeof(job->owner), "%s", order->owner);
    run->origin.owner = order->caller->name; /* stays, also when the token does not */
    run->origin.correlation_id = job->correlation_id;
    TAILQ_INSERT_TAIL(&jobs->all, job, link);
    return job;
}

/* Output that does not fit into the answer goes to a file. */
static void spill_streams(const struct jobs *jobs, struct caller *caller, struct run *run)
{
    if (jobs->options.spools) {
        run_stream_spill(&run->result.out, jobs->options.spools, &caller->spool_bytes);
        run_stream_spill(&run->result.err, jobs->options.spools, &caller->spool_bytes);
    }
}

/* It has a place. */
static void enter_pool(struct job *job)
{
    struct jobs *jobs = job->jobs;
    struct session *session;
    int r;

    job->turn_ns = loop_now_ns();
    job->run->origin.crowd = (uint32_t)job->place.caller->n_running;
    if (*job->session_id) {
        session = sessions_find(jobs->options.sessions, job->owner, job->session_id,
                                &job->run->result.error);
        r = session ? session_submit(session, job->run) : -1; /* it may have ended meanwhile */
    } else {
        r = pool_submit(jobs->options.pool, job->run);
    }
    if (r < 0)
        pool_refuse(jobs->options.pool, job->run);
}

static void on_turn(void *user)
{
    struct job *job = user;

    if (job->gate.at_turn) {
        job->is_at_gate = true;
        job->gate.at_turn(job->gate.user, job);
    } else {
        enter_pool(job);
    }
}

void job_pass(struct job *job)
{
    job->is_at_gate = false;
    if (!job->is_cancelled) {
        enter_pool(job);
        return;
    }
    job->run->result.status = RUN_CANCELLED;
    job->run->result.exit_code = 130;
    pool_refuse(job->jobs->options.pool, job->run);
}

static void on_refused(void *user, struct error *err)
{
    struct job *job = user;

    if (job->key.is_set)
        idempotency_drop(job->jobs->options.idempotency,
                         &job->key);         /* it had no turn, and may have one later */
    job->run->result.status = RUN_CANCELLED; /* unless there is an error */
    job->run->result.exit_code = 130;
    if (err->code != E_NONE)
        job->place.caller->n_refused++;
    error_move(&job->run->result.error, err);
    pool_refuse(job->jobs->options.pool, job->run);
}

/* Whether this caller may begin something now. */
static int claim(const struct jobs *jobs, struct caller *caller, unsigned *ret_retry_s,
                 struct error *err)
{
    bool is_quota;

    if (jobs->is_closed) {
        jobs->options.metrics->refusals[METRICS_STOPPING]++;
        return error_set(err, E_BUSY, "the server is stopping");
    }
    if (access_check_run(jobs->options.queue, jobs->options.recorder, caller, &is_quota,
                         ret_retry_s, err) == 0)
        return 0;
    jobs->options.metrics->refusals[is_quota ? METRICS_QUOTA : METRICS_QUEUE]++;
    return -1;
}

/* The files of a run, held until it is over. */
static size_t weigh(const struct run *run)
{
    size_t bytes = run->program.code.len + run->program.input.len;

    for (size_t i = 0; i < run->program.n_given; i++) {
        const struct run_given *given = &run->program.given[i];

        if (!given->owner)
            bytes += given->len;
        else if (i == 0 || given->owner != run->program.given[i - 1].owner)
            bytes += given->owner->text.len; /* all of the form that they came in */
    }
    return bytes;
}

/* Many may wait for one session, and for tasks nobody waits: without a bound of their own they
 * would have none. No caller gets all of it. */
int jobs_check_room(const struct jobs *jobs, const struct caller *caller, size_t weight,
                    struct error *err)
{
    size_t max = jobs->options.max_pending;
    const struct share share = {.total = max,
                                .used = jobs->pending_bytes,
                                .own = caller->pending_bytes,
                                .has_others = true};

    if (!max || share_allows(&share, weight))
        return 0;
    jobs->options.metrics->refusals[METRICS_QUEUE]++;
    error_set(err, E_BUSY, "waiting programs fill the memory reserved for them");
    return error_hint(err, "try again in a moment, or send fewer at once");
}

/* The most that a command may come to hold; 0: it is another kind of run. */
static size_t reservation(const struct run *run)
{
    if (run->program.language != RUN_COMMAND)
        return 0;
    return 2 * (size_t)run->terms.limits.output_bytes + LIMIT_COMMAND_COST;
}

/* A session runs many commands at once, and those of all sessions could keep more output than there
 * is memory. */
static int check_commands(const struct jobs *jobs, const struct caller *caller, size_t more,
                          struct error *err)
{
    const struct share share = {.total = LIMIT_COMMANDS_TOTAL,
                                .used = jobs->command_bytes,
                                .own = caller->command_bytes,
                                .has_others = true};

    if (!more || share_allows(&share, more))
        return 0;
    jobs->options.metrics->refusals[METRICS_QUEUE]++;
    error_set(err, E_BUSY, "running commands fill the memory reserved for their output");
    return error_hint(err, "wait for some to end, or keep less of each with `output_bytes`");
}

static void on_followed(struct run *run, const struct run_event *event)
{
    struct job *job = run->user;

    if (job->follower.on_event)
        job->follower.on_event(job->follower.user, event);
    job_wake_readers(job);
}

void job_hear_run(struct job *job)
{
    if (!job->run->on_event)
        job->run->on_event = on_followed;
}

/* A job that is ready to be queued; NULL: *err says why, and the run is the caller's. */
static struct job *make_job(struct jobs *jobs, const struct job_order *order, unsigned *ret_retry_s,
                            struct error *err)
{
    size_t sent = weigh(order->run), weight = sent + sizeof(struct job) + sizeof(struct run);
    size_t reserved = reservation(order->run);
    struct job *job;

    if (jobs_check_room(jobs, order->caller, weight, err) < 0 ||
        check_commands(jobs, order->caller, reserved, err) < 0 ||
        claim(jobs, order->caller, ret_retry_s, err) < 0)
        return NULL;
    job = new_job(jobs, order);
    if (!job) {
        error_memory(err);
        return NULL;
    }
    if (order->key && order->key->is_set) {
        if (idempotency_add(jobs->options.idempotency, order->owner, order->key, job->id,
                            loop_now_ns(), err) < 0) {
            job->run = NULL;
            free_job(job);
            return NULL;
        }
        job->key = *order->key;
    }
    if (order->traceparent)
        (void)snprintf(job->traceparent, sizeof(job->traceparent), "%s", order->traceparent);
    job->form = order->form;
    job->follower = order->follower;
    job->gate = order->gate;
    job->run->user = job;
    job->run->on_done = on_done;
    if (job->follower.on_event)
        job->run->on_event = on_followed;
    spill_streams(jobs, order->caller, job->run);
    job->sent_bytes = sent;
    job_weigh_in(job, weight);
    reserve(job, reserved);
    jobs->n_running++;
    return job;
}

static void enter_queue(struct job *job, struct session *session)
{
    struct session_info info;

    if (session) {
        session_info(session, &info);
        (void)snprintf(job->session_id, sizeof(job->session_id), "%s", info.id);
    }
    job->place.has_box = session != NULL;
    job->place.on_turn = on_turn;
    job->place.on_refused = on_refused;
    job->place.user = job;
    job_tell_events(job);
    queue_enter(job->jobs->options.queue, &job->place);
}

int jobs_start(struct jobs *jobs, const struct job_order *order, unsigned *ret_retry_s,
               struct job **ret_job, struct error *err)
{
    struct job *job = make_job(jobs, order, ret_retry_s, err);

    if (!job) {
        run_free(order->run);
        if (order->form.free)
            order->form.free(order->form.user);
        return -1;
    }
    *ret_job = job; /* its follower may be told at once */
    if (order->request && job->is_detached)
        job_answer_begun(job, order->request);
    else if (order->request && !order->form.write && route_wants_events(order->request))
        job_stream_begin(job, order->request);
    else if (order->request)
        job_wait(job, order->request);
    enter_queue(job, order->session);
    return 0;
}

struct job_order job_order_of(struct request *request, struct run *run)
{
    return (struct job_order){
        .run = run,
        .owner = request->owner,
        .caller = request->caller,
        .key = &request->idempotency,
        .traceparent = request->traceparent,
        .reader = request_reader(request),
        .request = request,
    };
}

struct job *jobs_start_or_answer(struct jobs *jobs, struct request *request,
                                 const struct job_order *order)
{
    struct job *job = NULL;
    struct error err = {0};

    if (jobs_start(jobs, order, &request->retry_s, &job, &err) < 0)
        request_answer_error(request, &err);
    return job;
}

void job_abandon(struct job *job)
{
    job->follower = (struct job_follower){0};
    job_cancel(job);
}

bool job_has_terminal(const struct job *job)
{
    return job->note.has_terminal;
}

const char *job_id(const struct job *job)
{
    return job->id;
}

const struct run *job_run(const struct job *job)
{
    return job->run;
}

void *job_form_user(const struct job *job, const struct job_form *form)
{
    return job->form.write == form->write ? job->form.user : NULL;
}

const struct spool *job_spool(const struct job *job, bool is_stderr)
{
    return job->spools[is_stderr];
}

void jobs_forget(struct jobs *jobs, const char *owner)
{
    for (struct job *job = TAILQ_FIRST(&jobs->all), *after; job; job = after) {
        after = TAILQ_NEXT(job, link);
        if (strcmp(job->owner, owner) != 0)
            continue;
        job_cancel(job);
        if (is_kept(job))
            forget(job);
        else
            job->owner[0] = '\0'; /* nobody's: a name is never empty */
    }
}

void jobs_recheck(struct jobs *jobs, const struct caller *caller)
{
    for (struct job *job = TAILQ_FIRST(&jobs->all), *after; job; job = after) {
        after = TAILQ_NEXT(job, link);
        if (strcmp(job->owner, caller->name) == 0 && job->run &&
            admission_check_run(caller, job->run, NULL) < 0)
            job_cancel(job);
    }
}

void jobs_close(struct jobs *jobs)
{
    jobs->is_closed = true;
}

bool jobs_is_closed(const struct jobs *jobs)
{
    return jobs->is_closed;
}

void jobs_cancel_all(struct jobs *jobs)
{
    for (struct job *job = TAILQ_FIRST(&jobs->all); job; job = TAILQ_NEXT(job, link))
        job_cancel(job);
}

int jobs_new(const struct jobs_options *options, struct jobs **ret_jobs, struct error *err)
{
    struct jobs *jobs = calloc(1, sizeof(*jobs));

    if (!jobs)
        return error_memory(err);
    jobs->options = *options;
    TAILQ_INIT(&jobs->all);
    jobs->tick = loop_timer(options->loop, job_stream_tick, jobs);
    if (!jobs->tick) {
        free(jobs);
        return error_memory(err);
    }
    *ret_jobs = jobs;
    return 0;
}

void jobs_free(struct jobs *jobs)
{
    if (!jobs)
        return;
    while (!TAILQ_EMPTY(&jobs->all))
        free_job(TAILQ_FIRST(&jobs->all));
    loop_watch_free(jobs->tick);
    free(jobs);
}

void jobs_level(const struct jobs *jobs, struct jobs_level *ret_level)
{
    *ret_level = (struct jobs_level){jobs->n_running, jobs->n_kept, jobs->kept_bytes};
}
