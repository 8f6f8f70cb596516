#include "cluster/job_keep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "cluster/job_internal.h"

#define MS UINT64_C(1000000)

/* How often the stream is looked at, and where it is known to have changed. */
#define LOOK_MS 5000

/* The first look takes no longer, unless the bus has no copies. */
#define SCAN_MS 5000

/* A move takes no longer; one that does keeps no keys from being used. */
#define MOVING_MS 30000

/* Works at a time; and jobs that are taken between two heartbeats. */
#define WORKS_MAX 32
#define TAKES_MAX 16

/* Works at a time where clients wait for some. */
#define WORKS_ASKED (4 * WORKS_MAX)

/* A job is asked for until it is over; where there are many, each for a shorter time. */
#define WAIT_S    20
#define FEW_JOBS  (WORKS_MAX / 2)
#define MANY_JOBS 300

/* What the stream may come to hold, and for how long where nobody removes it: longer than any job
 * is delayed, runs and is kept. */
#define STREAM_BYTES (512 * (json_int_t)MIB)
#define STREAM_NS    ((json_int_t)60 * 86400 * 1000000000)

#define INFO_SUBJECT   "$JS.API.STREAM.INFO." JOB_STREAM
#define CREATE_SUBJECT "$JS.API.STREAM.CREATE." JOB_STREAM

static void ask(struct job_keep *keep, const char *subject, const char *question, job_bus_fn fn)
{
    if (job_bus_ask(keep->bus, keep->node->bus, subject, question, strlen(question), fn, keep) < 0)
        keep->is_looking = false;
}

void job_keep_complain(struct job_keep *keep, const char *what, const struct error *err)
{
    char text[sizeof(keep->said)];

    (void)snprintf(text, sizeof(text), "%s: %s", what, err->message ? err->message : "no memory");
    if (strcmp(text, keep->said) == 0)
        return;
    memcpy(keep->said, text, sizeof(text));
    LOG_EVENT(LOG_WARNING, "jobs", {"message", text},
              {"hint",
               "if this stays, the server of the bus has lost its part of the stream: `systemctl "
               "restart belljar-nats` on this machine; the others have all of it",
               .is_left_out = !strstr(text, "stream not found")});
}

/* --- looking at the stream --- */

static void on_created(void *user, const json_t *answer)
{
    struct job_keep *keep = user;
    const json_t *error = json_object_get(answer, "error");
    struct error err = {.message = (char *)(uintptr_t)json_get_text(error, "description")};

    keep->is_looking = false;
    keep->has_stream = answer && !error;
    keep->looks_again = keep->has_stream;
    if (error)
        job_keep_complain(keep, "the bus keeps no copies of jobs", &err);
}

static void create(struct job_keep *keep)
{
    cleanup(buf_done) struct buf text = BUF_OF(KIB);
    cleanup_json json_t *config =
        json_pack("{s:s, s:[s], s:s, s:s, s:i, s:s, s:b, s:I, s:I, s:i, s:i, s:i}", "name",
                  JOB_STREAM, "subjects", JOB_PUT, "retention", "limits", "storage", "file",
                  "max_msgs_per_subject", 1, "discard", "new", "discard_new_per_subject", 1,
                  "max_bytes", STREAM_BYTES, "max_age", STREAM_NS, "num_replicas",
                  (int)keep->node->settings->replicas, "max_msgs", -1, "max_consumers", -1);

    if (config && json_text_dump(config, JSON_TEXT_COMPACT, &text, NULL) == 0)
        ask(keep, CREATE_SUBJECT, buf_str(&text), on_created);
    else
        keep->is_looking = false;
}

static const json_t *subjects_of(const json_t *answer)
{
    return json_object_get(json_object_get(answer, "state"), "subjects");
}

static void on_ends(void *user, const json_t *answer)
{
    struct job_keep *keep = user;

    keep->is_looking = false;
    if (!json_object_get(answer, "state"))
        return;
    job_table_see_ends(&keep->table, subjects_of(answer));
    job_table_sweep(&keep->table, keep->look);
    keep->is_scanned = true;
    keep->last_sequence = keep->seen_sequence;
    keep->messages = keep->seen_messages;
}

static void on_homes(void *user, const json_t *answer)
{
    struct job_keep *keep = user;

    if (!json_object_get(answer, "state")) {
        keep->is_looking = false;
        return;
    }
    job_table_see_homes(&keep->table, subjects_of(answer), keep->look);
    ask(keep, INFO_SUBJECT, "{\"subjects_filter\":\"" JOB_SUBJECTS "*.e.*.*\"}", on_ends);
}

static void on_info(void *user, const json_t *answer)
{
    struct job_keep *keep = user;
    const json_t *state = json_object_get(answer, "state");
    uint64_t last = (uint64_t)json_integer_value(json_object_get(state, "last_seq"));
    uint64_t messages = (uint64_t)json_integer_value(json_object_get(state, "messages"));

    keep->has_stream = state != NULL;
    if (!state &&
        json_integer_value(json_object_get(json_object_get(answer, "error"), "code")) == 404) {
        create(keep);
        return;
    }
    if (!state || (keep->is_scanned && last == keep->last_sequence && messages == keep->messages)) {
        keep->is_looking = false;
        return;
    }
    keep->seen_sequence = last;
    keep->seen_messages = messages;
    keep->look++;
    ask(keep, INFO_SUBJECT, "{\"subjects_filter\":\"" JOB_SUBJECTS "*.h.*.*\"}", on_homes);
}

void job_keep_look(struct job_keep *keep)
{
    keep->looks_again = true;
}

static void look(struct job_keep *keep, uint64_t now)
{
    if (keep->is_looking || (now < keep->look_ns && !keep->looks_again))
        return;
    keep->is_looking = true;
    keep->looks_again = false;
    keep->look_ns = now + (keep->is_scanned ? LOOK_MS : LOOK_MS / 10) * MS;
    ask(keep, INFO_SUBJECT, "", on_info);
}

/* --- who is there --- */

static void note_alive(struct job_keep *keep, const char *name)
{
    size_t i = 0;

    while (i < keep->n_alive && strcmp(keep->alive[i].name, name) != 0)
        i++;
    if (i == CLUSTER_NAMES_MAX)
        return;
    if (i == keep->n_alive) {
        keep->n_alive++;
        (void)snprintf(keep->alive[i].name, sizeof(keep->alive[i].name), "%s", name);
    }
    keep->alive[i].ready_ns = loop_now_ns();
}

/* NULL: it was never heard. */
static const struct alive *find_alive(const struct job_keep *keep, const char *name)
{
    for (size_t i = 0; i < keep->n_alive; i++)
        if (strcmp(keep->alive[i].name, name) == 0)
            return &keep->alive[i];
    return NULL;
}

/* Neither it nor its engine was heard for so long. One that was never heard counts from when the
 * bus was there. */
static bool is_away(const struct job_keep *keep, const char *name, uint64_t now)
{
    const struct alive *alive = find_alive(keep, name);
    uint64_t since = alive && alive->ready_ns > keep->up_ns ? alive->ready_ns : keep->up_ns;

    return now > since + (uint64_t)keep->node->settings->jobs_after_s * 1000 * MS;
}

static void on_node(struct job_keep *keep, const char *name, const struct bus_message *message)
{
    struct beat beat;

    if (beat_read(message->data, message->len, &beat, NULL) < 0)
        return;
    if (strcmp(beat.name, name) == 0 && beat.has_engine)
        note_alive(keep, name);
    beat_done(&beat);
}

bool job_keep_take(struct job_keep *keep, const struct bus_message *message)
{
    struct subject_names names;

    if (job_bus_take(keep->bus, message))
        return true;
    if (!subject_read(message->subject, "alive.node", &names))
        return false;
    on_node(keep, names.name, message);
    return true;
}

/* What others did while the bus was away has to be known before anything is done. */
void job_keep_up(struct job_keep *keep)
{
    keep->up_ns = loop_now_ns();
    keep->is_up = true;
    keep->is_scanned = false;
    keep->looks_again = true;
}

/* --- what is to be done --- */

static bool is_ours(const struct job_keep *keep, const struct kept_job *job)
{
    return strcmp(job->home, keep->node->settings->name) == 0;
}

/* By the clock of its home, or of another where that is lost: a clock that is wrong is to take
 * nothing away from others. */
static bool is_expired(const struct job_keep *keep, const struct kept_job *job, uint64_t now)
{
    bool is_last = job->end_home == job->last || job->is_over; /* else it may yet be removed */

    return job->has_end && is_last && job->knows_home && (uint64_t)time(NULL) > job->expires_s &&
           (is_ours(keep, job) || is_away(keep, job->home, now));
}

static bool may_take(const struct job_keep *keep)
{
    const struct beat *beat = &keep->node->beat;

    return keep->n_takes < TAKES_MAX && !keep->node->is_draining && beat->room > 0;
}

static void do_ours(struct job_keep *keep, struct kept_job *job)
{
    size_t open = keep->n_open;

    bool is_of_other = job->has_end && job->end_home < job->last;

    /* An end that an earlier home has brought there too late counts for nothing. */
    if (!job->has_end || (is_of_other && job->is_imported && !job->is_over))
        job_chain_watch(keep, job, open <= FEW_JOBS ? WAIT_S : open <= MANY_JOBS);
    else if (is_of_other && !job->is_imported)
        job_chain_import(keep, job);
}

static void do_next(struct job_keep *keep, struct kept_job *job, uint64_t now)
{
    bool has_engine = keep->node->beat.has_engine;

    if (job->is_dropped || is_expired(keep, job, now)) {
        job_chain_purge(keep, job);
    } else if (!job->knows_home) {
        job_chain_homes(keep, job);
    } else if (!has_engine) {
        return;
    } else if (is_ours(keep, job)) {
        do_ours(keep, job);
    } else if (job->was_here && !job->is_fenced) {
        job_chain_fence(keep, job);
    } else if (may_take(keep) && is_away(keep, job->home, now)) {
        keep->n_takes++;
        job_chain_take(keep, job);
    }
}

void job_keep_tick(struct job_keep *keep)
{
    uint64_t now = loop_now_ns();
    struct kept_job *job, *next;
    size_t left = keep->table.count, open = 0;

    job_bus_tick(keep->bus);
    if (!keep->is_up || !bus_is_up(keep->node->bus))
        return;
    look(keep, now);
    if (!keep->is_scanned)
        return;
    keep->n_takes = 0;
    for (job = TAILQ_FIRST(&keep->table.list); job && left--; job = next) {
        next = TAILQ_NEXT(job, link);
        open += !job->has_end && is_ours(keep, job);
        if (!job->work && now >= job->rests_until_ns && keep->n_works < WORKS_MAX)
            do_next(keep, job, now);
    }
    keep->n_open = open;
}

/* --- what the engine does not know --- */

/* Its next home has yet to find that it is lost, or to give it to its engine. */
static bool is_moving(const struct job_keep *keep, const struct kept_job *job, uint64_t now)
{
    const struct alive *home = find_alive(keep, job->home);

    if (job->is_dropped)
        return false;
    if (job->moved_ns && now > job->moved_ns + MOVING_MS * MS)
        return false;
    if (!job->knows_home)
        return true;
    if (is_ours(keep, job)) /* who has brought its end there has it */
        return job->last > 1 && !job->is_imported && !(job->has_end && job->end_home == job->last);
    return !home || now > home->ready_ns + CLUSTER_LOST_MS * MS;
}

/* Of a key it is not known which job has it. */
static bool some_move(const struct job_keep *keep)
{
    uint64_t now = loop_now_ns();
    const struct kept_job *job;

    TAILQ_FOREACH(job, &keep->table.list, link) {
        if (is_moving(keep, job, now))
            return true;
    }
    return false;
}

/* NULL: the bus has none, as far as it is known. */
static struct kept_job *find_job(const struct job_keep *keep, struct span path)
{
    struct kept_job *job;
    char id[ID_SIZE];

    job_id_of_path(path.data, path.len, id);
    job = *id ? job_table_find(&keep->table, id) : NULL;
    return job && !job->is_dropped ? job : NULL;
}

bool job_keep_is_elsewhere(const struct job_keep *keep, struct span path)
{
    const struct kept_job *job = find_job(keep, path);

    if (span_starts_with(path, "/v1/jobs/key:"))
        return false;
    if (!keep->is_scanned) /* what others did meanwhile is not known */
        return keep->is_up && loop_now_ns() < keep->up_ns + SCAN_MS * MS;
    return job && !(job->knows_home && is_ours(keep, job));
}

bool job_keep_tells_end(struct job_keep *keep, struct span path)
{
    struct kept_job *job = find_job(keep, path);

    if (!job || !is_ours(keep, job) || job->is_over || (job->has_end && job->end_home == job->last))
        return false;
    if (!job->work && keep->n_works < WORKS_ASKED)
        job_chain_watch(keep, job, 0);
    return true;
}

bool job_keep_may_have(struct job_keep *keep, struct span path)
{
    if (span_starts_with(path, "/v1/jobs/key:"))
        return !keep->is_scanned || some_move(keep);
    if (!find_job(keep, path))
        return false;
    job_keep_look(keep); /* it may have been deleted elsewhere */
    return true;
}

/* --- life --- */

void job_keep_subjects(const struct job_keep *keep, const char *ret[JOB_KEEP_SUBJECTS])
{
    ret[0] = job_bus_subject(keep->bus);
    ret[1] = CLUSTER_SUBJECTS ".alive.node.*";
}

int job_keep_new(struct node *node, struct job_keep **ret_keep, struct error *err)
{
    struct job_keep *keep = calloc(1, sizeof(*keep));

    if (!keep)
        return error_memory(err);
    keep->node = node;
    TAILQ_INIT(&keep->works);
    job_table_init(&keep->table, node->instance);
    keep->bus = job_bus_new(JOB_BUS_ANSWERS, node->settings->name);
    if (!keep->bus)
        (void)error_memory(err);
    if (!keep->bus || job_seal_load(node->settings->jobs_key, &keep->seal, err) < 0) {
        job_keep_free(keep);
        return -1;
    }
    *ret_keep = keep;
    return 0;
}

void job_keep_free(struct job_keep *keep)
{
    if (!keep)
        return;
    while (!TAILQ_EMPTY(&keep->works))
        job_work_end(TAILQ_FIRST(&keep->works), 0);
    job_bus_free(keep->bus);
    job_table_done(&keep->table);
    explicit_bzero(&keep->seal, sizeof(keep->seal));
    free(keep);
}
