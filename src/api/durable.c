/* Durable jobs: the file, its lock, and whose turn it is. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/durable_internal.h"
#include "base/cleanup.h"
#include "base/date.h"
#include "base/log.h"
#include "base/share.h"

/* Attempts that are begun in one turn of the loop. */
#define BURST 4

/* How often old jobs are looked for, how many are deleted at a time, and how often a lock is tried.
 */
#define TICK_MS      60000
#define EXPIRE_MAX   64
#define FORGET_MAX   128
#define LOCK_TICK_MS 1000

/* How often it is looked whether the file of tokens can be read again. */
#define SHUT_OUT_NS ((uint64_t)1000000000)

/* A clock that was set back makes nothing wait for longer than this. */
#define LOOK_MS 60000

/* In a cluster, jobs of an earlier server begin so much later: another machine may have taken some
 * of them, and the node removes those here. */
#define HOLD_S 5

/* --- the file --- */

/* Another server of this user has its own attempts, which this one must not take for interrupted. A
 * lock of fcntl() is not inherited by helpers, and ends with the process. */
static int take_lock(struct durable *durable, struct error *err)
{
    cleanup_free char *path = NULL;
    cleanup_close int fd = -1;
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    if (durable->lock >= 0)
        return 0;
    if (asprintf(&path, "%s.lock", durable->path) < 0) {
        path = NULL;
        return error_memory(err);
    }
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return error_errno(err, "open `%s`", path);
    if (fcntl(fd, F_SETLK, &all) < 0) {
        if (errno != EACCES && errno != EAGAIN)
            return error_errno(err, "lock `%s`", path);
        error_set(err, E_BUSY, "another server of this user has the jobs");
        return error_hint(err, "use that server, or stop it");
    }
    durable->lock = take_fd(fd);
    return 0;
}

static void close_store(struct durable *durable)
{
    log_sync_free(take_ptr(durable->sync));
    store_free(take_ptr(durable->store));
    free(take_ptr(durable->path));
    close_fd(&durable->lock);
}

static int open_store(struct durable *durable, bool is_read, struct error *err)
{
    durable->store = job_records_open(&durable->path, err);
    if (!durable->store) {
        error_done(err);
        error_set(err, E_UNSUPPORTED, "there is no directory for stored data");
        return error_hint(err, "start Belljar with HOME or XDG_STATE_HOME set");
    }
    if (is_read && !store_is_there(durable->store))
        return -1;
    if (take_lock(durable, err) < 0)
        return -1;
    store_attend(durable->store, durable->loop);
    if (job_record_recover(durable->store, date_now_ms(), err) < 0)
        return -1;
    return log_sync_new(durable->loop, durable->path, &durable->sync, err);
}

struct store *durable_store(struct durable *durable, bool is_read, struct error *err)
{
    if (durable->store)
        return durable->store;
    if (open_store(durable, is_read, err) < 0) {
        close_store(durable);
        return NULL;
    }
    loop_timer_start(durable->tick, TICK_MS);
    durable_look(durable);
    return durable->store;
}

/* --- whose turn it is --- */

static struct durable_line *line_of(struct durable *durable, const char *owner)
{
    struct durable_line *line;

    for (line = durable->lines; line; line = line->next)
        if (strcmp(line->owner, owner) == 0)
            return line;
    line = calloc(1, sizeof(*line));
    if (!line)
        return NULL;
    (void)snprintf(line->owner, sizeof(line->owner), "%s", owner);
    line->next = durable->lines;
    durable->lines = line;
    return line;
}

/* NULL: its token is not known. */
static struct caller *caller_of(const struct durable *durable, const char *owner)
{
    struct caller *c = auth_next(durable->api->auth, NULL);

    while (c && (!c->is_known || strcmp(c->keeper, owner) != 0))
        c = auth_next(durable->api->auth, c);
    return c;
}

/* Half of the places, as for batches: the others stay free for those who wait for an answer. */
static size_t window(const struct durable *durable)
{
    struct queue_level level;

    queue_level(durable->api->queue, &level);
    return level.max_running > 2 ? level.max_running / 2 : 1;
}

/* Results that have no room are no good: an owner whose space is full waits. */
static bool has_room(struct durable *durable, const char *owner)
{
    struct job_usage usage;

    return job_record_usage(durable->store, owner, &usage, NULL) == 0 &&
           usage.bytes < (int64_t)LIMIT_JOBS_OWNER_BYTES;
}

static bool may_begin(struct durable *durable, const struct durable_line *line,
                      const struct caller *caller)
{
    double own = caller->rights.max_runs;
    const struct share share = {.total = window(durable),
                                .used = durable->n_active,
                                .own = line->n_active,
                                .has_others = auth_has_others(durable->api->auth)};

    return line->paused_until_ns <= loop_now_ns() &&
           (own < 0 || (double)line->n_active < (own < 1 ? 1 : own)) &&
           (share_allows(&share, 1) || durable->n_active == 0) && has_room(durable, line->owner);
}

/* Begins one job of this owner. 1: begun, 0: it has none that can be, -1: the disk fails. */
static int begin_one(struct durable *durable, const char *owner)
{
    struct durable_line *line = line_of(durable, owner);
    struct caller *caller = caller_of(durable, owner);
    char id[JOB_ID_SIZE];
    int r;

    if (line && caller && caller->is_shut_out) /* for a while */
        line->paused_until_ns = loop_now_ns() + SHUT_OUT_NS;
    if (!line || !caller || !may_begin(durable, line, caller))
        return 0;
    /* The disk says of those that have not begun, or are about to end, that they wait. */
    for (size_t skip = 0; skip <= line->n_active; skip++) {
        r = job_record_next(durable->store, owner, date_now_ms(), skip, id, NULL);
        if (r <= 0)
            return r;
        if (!attempt_find(durable, id))
            return attempt_start(durable, line, caller, id) ? 1 : -1;
    }
    return 0;
}

/* One job of each owner in turn. */
static int begin_next(struct durable *durable)
{
    char first[JOB_OWNER_SIZE] = "", owner[JOB_OWNER_SIZE];
    bool is_round = false;

    (void)snprintf(owner, sizeof(owner), "%s", durable->last_owner);
    for (size_t i = 0; i <= TOKENS_MAX + 1; i++) {
        int r = job_record_next_owner(durable->store, owner, owner, NULL);

        if (r == 0 && !is_round && *durable->last_owner) {
            is_round = true; /* from the first one on */
            owner[0] = '\0';
            continue;
        }
        if (r <= 0 || strcmp(owner, first) == 0)
            return r < 0 ? -1 : 0;
        if (!*first)
            (void)snprintf(first, sizeof(first), "%s", owner);
        r = begin_one(durable, owner);
        if (r != 0) {
            (void)snprintf(durable->last_owner, sizeof(durable->last_owner), "%s", owner);
            return r;
        }
    }
    return 0;
}

/* When to look again if nothing else happens. */
static void wait_for_due(struct durable *durable)
{
    uint64_t now_ns = loop_now_ns(), wait_ms = LOOK_MS;
    int64_t due = 0, now = date_now_ms();

    if (job_record_next_due(durable->store, now, &due, NULL) == 0 && due > now &&
        (uint64_t)(due - now) < wait_ms)
        wait_ms = (uint64_t)(due - now);
    for (const struct durable_line *line = durable->lines; line; line = line->next)
        if (line->paused_until_ns > now_ns &&
            (line->paused_until_ns - now_ns) / 1000000 + 1 < wait_ms)
            wait_ms = (line->paused_until_ns - now_ns) / 1000000 + 1;
    loop_timer_start(durable->turn, wait_ms);
}

static void on_turn(void *arg)
{
    struct durable *durable = arg;
    uint64_t now = loop_now_ns();

    if (!durable->store || durable->is_stopping)
        return;
    if (durable->paused_until_ns > now) {
        loop_timer_start(durable->turn, (durable->paused_until_ns - now) / 1000000 + 1);
        return;
    }
    auth_refresh(durable->api->auth);
    for (int i = 0; i < BURST && durable->n_active < window(durable); i++) {
        int r = begin_next(durable);

        if (r < 0)
            durable_pause(durable, 1);
        if (r <= 0) {
            wait_for_due(durable);
            return;
        }
    }
    if (durable->n_active < window(durable))
        loop_timer_start(durable->turn, 0);
    else
        wait_for_due(durable);
}

void durable_look(struct durable *durable)
{
    if (!durable->is_stopping && !durable->is_freed)
        loop_timer_start(durable->turn, 0);
}

void durable_pause(struct durable *durable, unsigned seconds)
{
    durable->paused_until_ns = loop_now_ns() + (uint64_t)seconds * 1000000000;
}

static void tell_idle(struct durable *durable)
{
    loop_fn on_idle = durable->on_idle;

    if (!durable->is_stopping || durable->n_active || !on_idle)
        return;
    durable->on_idle = NULL;
    on_idle(durable->on_idle_arg);
}

void durable_drop(struct attempt *attempt)
{
    struct durable *durable = attempt->durable;

    LIST_REMOVE(attempt, link);
    durable->n_active--;
    attempt->line->n_active--;
    attempt_free(attempt);
    durable_look(durable);
    tell_idle(durable);
}

/* --- time --- */

static void expire(struct durable *durable)
{
    bool has_more = false;
    struct error err = {0};

    if (job_record_expire(durable->store, date_now_ms(), EXPIRE_MAX, &has_more, &err) < 0)
        error_done(&err); /* a disk that is full, or busy: the next tick tries again */
    loop_timer_start(durable->tick, has_more ? 50 : TICK_MS);
    durable_look(durable); /* there may be room now */
}

static void on_tick(void *arg)
{
    struct durable *durable = arg;

    if (durable->store)
        expire(durable);
    else
        durable_start(durable);
}

void durable_start(struct durable *durable)
{
    struct error err = {0};

    if (durable->is_stopping)
        return;
    if (*durable->api->config->cluster_socket)
        durable_pause(durable, HOLD_S);
    if (!durable_store(durable, true, &err) && err.code == E_BUSY)
        loop_timer_start(durable->tick, LOCK_TICK_MS);
    else if (!durable->store && err.code != E_NONE && err.code != E_UNSUPPORTED)
        LOG_EVENT(LOG_ERROR, "jobs", {"message", error_message(&err)});
    error_done(&err);
}

/* --- those whose owner has gone --- */

static struct durable_line *find_forgotten(const struct durable *durable)
{
    struct durable_line *line = durable->store ? durable->lines : NULL;

    while (line && !line->is_forgotten)
        line = line->next;
    return line;
}

/* An owner can have many. Nobody finds them meanwhile: the next token of that name is another
 * owner. */
static void forget_some(void *arg)
{
    struct durable *durable = arg;
    struct durable_line *line = find_forgotten(durable);
    struct error err = {0};

    if (!line)
        return;
    if (job_record_forget(durable->store, line->owner, FORGET_MAX, &line->is_forgotten, &err) < 0)
        LOG_EVENT(LOG_ERROR, "jobs", {"message", error_message(&err)});
    error_done(&err);
    if (find_forgotten(durable))
        loop_work_post(durable->loop, &durable->forgetting, forget_some, durable);
}

/* --- beginning and end --- */

int durable_new(struct api *api, struct loop *loop, struct durable **ret_durable, struct error *err)
{
    struct durable *durable = calloc(1, sizeof(*durable));

    if (!durable)
        return error_memory(err);
    *durable = (struct durable){.api = api, .loop = loop, .lock = -1};
    LIST_INIT(&durable->attempts);
    LIST_INIT(&durable->waits);
    LIST_INIT(&durable->accepts);
    durable->turn = loop_timer(loop, on_turn, durable);
    durable->tick = loop_timer(loop, on_tick, durable);
    if (!durable->turn || !durable->tick) {
        durable_free(durable);
        return error_memory(err);
    }
    *ret_durable = durable;
    return 0;
}

void durable_stop(struct durable *durable, loop_fn on_idle, void *arg)
{
    struct attempt *next;

    durable->is_stopping = true;
    durable->on_idle = on_idle;
    durable->on_idle_arg = arg;
    for (struct attempt *a = LIST_FIRST(&durable->attempts); on_idle && a; a = next) {
        next = LIST_NEXT(a, link);
        if (a->step == ATTEMPT_QUEUED)
            job_cancel(a->job); /* it waits again, for the next server */
    }
    while (find_forgotten(durable))
        forget_some(durable);
    tell_idle(durable);
}

void durable_forget(struct durable *durable, const struct caller *caller)
{
    struct durable_line *line;
    struct attempt *a;

    LIST_FOREACH(a, &durable->attempts, link)
        if (a->caller == caller)
            a->is_orphan = true;
    line = durable->store ? line_of(durable, caller->keeper) : NULL;
    if (line) {
        line->is_forgotten = true;
        loop_work_post(durable->loop, &durable->forgetting, forget_some, durable);
    }
}

void durable_count(struct durable *durable, struct job_counts *ret_counts)
{
    *ret_counts = (struct job_counts){0};
    if (durable->store)
        (void)job_record_count(durable->store, ret_counts, NULL);
}

void durable_free(struct durable *durable)
{
    if (!durable)
        return;
    durable->is_freed = durable->is_stopping = true;
    durable->on_idle = NULL;
    loop_work_cancel(&durable->forgetting);
    close_store(durable);
    while (!LIST_EMPTY(&durable->attempts))
        durable_drop(LIST_FIRST(&durable->attempts));
    durable_drop_waits(durable);
    while (durable->lines) {
        struct durable_line *line = durable->lines;

        durable->lines = line->next;
        free(line);
    }
    loop_watch_free(durable->turn);
    loop_watch_free(durable->tick);
    free(durable);
}
