#include "engine/session.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "base/name.h"
#include "engine/recorder.h"
#include "engine/session_internal.h"
#include "mask/pseudonyms.h"

/* A sandbox that dies unused is replaced so often; then something is wrong with this host. */
#define LOSSES_MAX 5

/* --- the table --- */

static int compare_keys(const void *a, const void *b)
{
    const struct key *left = a, *right = b;
    int by_owner = strcmp(left->owner, right->owner);

    return by_owner ? by_owner : strcmp(left->name, right->name);
}

static struct key *find_key(const struct sessions *sessions, const char *owner, const char *name)
{
    struct key wanted = {.owner = owner, .name = name};
    struct key **found = tfind(&wanted, &sessions->tree, compare_keys);

    return found ? *found : NULL;
}

static int link_session(struct session *s)
{
    struct sessions *table = s->table;

    s->by_name = (struct key){s->owner, s->name, s};
    s->by_id = (struct key){s->owner, s->id, s};
    if (!tsearch(&s->by_id, &table->tree, compare_keys))
        return -1;
    if (strcmp(s->name, s->id) != 0 && !tsearch(&s->by_name, &table->tree, compare_keys)) {
        (void)tdelete(&s->by_id, &table->tree, compare_keys);
        return -1;
    }
    TAILQ_INSERT_TAIL(&table->all, s, link);
    table->count++;
    return 0;
}

static void unlink_session(struct session *s)
{
    struct sessions *table = s->table;

    (void)tdelete(&s->by_id, &table->tree, compare_keys);
    if (strcmp(s->name, s->id) != 0)
        (void)tdelete(&s->by_name, &table->tree, compare_keys);
    TAILQ_REMOVE(&table->all, s, link);
    table->count--;
}

struct session *sessions_find(struct sessions *sessions, const char *owner, const char *name,
                              struct error *err)
{
    struct key *key = find_key(sessions, owner, name);

    if (key)
        return key->session;
    (void)sessions_say_lost(sessions, owner, name, err);
    return NULL;
}

struct session *sessions_next(const struct sessions *sessions, const struct session *after)
{
    return after ? TAILQ_NEXT(after, link) : TAILQ_FIRST(&sessions->all);
}

/* --- answers --- */

/* Answers are given from the loop, so that on_done is never called while its caller is still
 * submitting. */
void session_answer(struct sessions *table, struct session_cell *cell)
{
    TAILQ_INSERT_TAIL(&table->done, cell, link);
    loop_timer_start(table->soon, 0);
}

void session_answer_run(const struct sessions *table, struct run *run)
{
    recorder_end(table->recorder, run);
    run->on_done(run);
}

/* Cells that are added meanwhile wait for the next turn. */
static void deliver(struct sessions *table)
{
    struct session_cells due = TAILQ_HEAD_INITIALIZER(due);
    struct session_cell *cell;

    TAILQ_CONCAT(&due, &table->done, link);
    while ((cell = TAILQ_FIRST(&due))) {
        struct run *run = cell->run;

        TAILQ_REMOVE(&due, cell, link);
        free(cell);
        session_answer_run(table, run);
    }
}

static void on_soon(void *arg)
{
    deliver(arg);
}

void session_set_ended(const struct session *s, struct error *err)
{
    error_done(err);
    error_set(err, E_NOT_FOUND, "the session ended: %s", s->why);
    error_hint(err, "open a new one; its variables and files are gone");
}

/* --- cells --- */

static void enqueue(struct session *s, struct session_cell *cell)
{
    TAILQ_INSERT_TAIL(&s->queue, cell, link);
    s->n_queued++;
}

static void dequeue(struct session *s, struct session_cell *cell)
{
    TAILQ_REMOVE(&s->queue, cell, link);
    s->n_queued--;
}

static void rest(struct session *s)
{
    s->rested_ns = loop_now_ns();
    if (s->idle_ms && !s->is_closing)
        loop_timer_start(s->idle, s->idle_ms);
}

static int hand_over(struct session *s, struct run *run, struct error *err)
{
    const struct box_context *context = NULL;

    if (session_context_of(s, run, &context, err) < 0)
        return -1;
    run->elsewhere = s->away ? session_elsewhere(s) : NULL;
    if (run->elsewhere) {
        run->elsewhere->cell(s->away, run);
        return 0;
    }
    run->box = s->box;
    return box_cell(s->box, run, context, err);
}

/* The next cell, if there is one and the sandbox is free. */
void session_go_on(struct session *s)
{
    session_start_commands(s);
    while (!s->current && s->n_queued && !session_copy_holds(s) && session_is_free(s) &&
           !s->is_closing) {
        struct session_cell *cell = TAILQ_FIRST(&s->queue);
        struct run *run = cell->run;
        struct error err = {0};

        dequeue(s, cell);
        loop_timer_stop(s->idle);
        s->is_used = true;
        s->current = run;
        if (hand_over(s, run, &err) == 0) {
            free(cell);
            return;
        }
        s->current = NULL;
        run->box = NULL;
        error_move(&run->result.error, &err);
        session_answer(s->table, cell);
    }
    if (!s->current && !s->n_commands && !session_is_starting(s) && !s->is_paused &&
        !session_copy_holds(s))
        rest(s);
}

static void adopt_cell(struct session *s, struct run *cell)
{
    struct run_limits own = cell->terms.limits;

    memcpy(cell->origin.session, s->id, sizeof(cell->origin.session));
    cell->origin.session_name = s->name;
    cell->names = s->names;
    run_terms_lend(&cell->terms, &s->terms);
    cell->masks = s->table->masks;
    for (size_t i = 0; i < RUN_LIMIT_ROWS; i++)
        if (run_limit_table[i].scope == RUN_LIMIT_OF_CELL)
            run_limit_set_raw(&cell->terms.limits, &run_limit_table[i],
                              run_limit_raw(&own, &run_limit_table[i]));
    cell->result.started_ns = loop_now_ns();
    if (!cell->origin.owner)
        cell->origin.owner = s->owner;
}

bool session_take(struct session *s, struct run *cell)
{
    struct error *err = &cell->result.error;

    if (s->is_closing) {
        session_set_ended(s, err);
        return false;
    }
    if (session_check_awake(s, err) < 0)
        return false;
    /* A NUL ends a cell for a shell, and what follows would be read as something else. Python's
     * policy has words of its own for it. */
    if (cell->program.language == RUN_BASH &&
        memchr(buf_str(&cell->program.code), '\0', cell->program.code.len)) {
        error_set(err, E_INVALID, "the cell contains a NUL byte");
        error_hint(err, "printf '\\0' writes one");
        return false;
    }
    adopt_cell(s, cell);
    /* Written down as it came: what the names stand for is not for the disk. */
    return recorder_start(s->table->recorder, cell, err) == 0 &&
           (!s->names || (pseudonyms_back(s->names, &cell->program.code, err) == 0 &&
                          pseudonyms_back(s->names, &cell->program.input, err) == 0));
}

int session_submit(struct session *s, struct run *run)
{
    struct session_cell *cell = calloc(1, sizeof(*cell));

    if (!cell)
        return error_memory(&run->result.error);
    cell->run = run;
    if (run->program.language == RUN_COMMAND) {
        session_submit_command(s, cell);
    } else if (session_take(s, run)) {
        enqueue(s, cell);
        session_go_on(s);
    } else {
        session_answer(s->table, cell);
    }
    return 0;
}

bool session_interrupt(struct session *s)
{
    if (!s->current || (!s->box && !s->away))
        return false;
    if (s->away)
        session_elsewhere(s)->interrupt(s->away);
    else
        box_cancel(s->box);
    return true;
}

bool session_cancel_waiting(struct session_cells *queue, struct session *s, struct run *run)
{
    struct session_cell *cell;

    TAILQ_FOREACH(cell, queue, link)
        if (cell->run == run)
            break;
    if (!cell)
        return false;
    TAILQ_REMOVE(queue, cell, link);
    run->result.status = RUN_CANCELLED;
    run->result.exit_code = 130;
    session_answer(s->table, cell);
    return true;
}

void session_cancel(struct session *s, struct run *run)
{
    if (run == s->current)
        (void)session_interrupt(s);
    else if (run->command)
        box_command_cancel(run);
    else if (session_cancel_waiting(&s->queue, s, run))
        s->n_queued--;
    else if (session_cancel_waiting(&s->commands, s, run))
        s->n_commands--;
}

int session_check_restart(const struct session *s, struct error *err)
{
    if (session_check_awake(s, err) < 0)
        return -1;
    if (s->copy || s->fork || s->seed)
        return error_set(err, E_BUSY, "the session is being copied");
    if (s->current) {
        error_set(err, E_BUSY, "a cell is running");
        return error_hint(err, "interrupt it first");
    }
    return 0;
}

int session_restart(struct session *s, enum run_language language, struct error *err)
{
    if (session_check_restart(s, err) < 0)
        return -1;
    if (s->away)
        session_restart_away(s, language);
    else if (s->box)
        box_restart(s->box, language);
    return 0;
}

bool session_is_starting(const struct session *s)
{
    return (!s->box && !s->is_away_open) || s->fork || s->seed;
}

pid_t session_pid(const struct session *s)
{
    return s->box ? box_pid(s->box) : -1;
}

struct files *session_files(struct session *s)
{
    s->is_used = true;
    return s->box && !session_is_starting(s) ? box_files(s->box) : NULL;
}

struct overlays *session_overlays(struct session *s)
{
    return s->box && !session_is_starting(s) ? box_overlays(s->box) : NULL;
}

struct mask_context session_masks(const struct session *s)
{
    return (struct mask_context){.level = s->terms.masking, .masks = s->table->masks};
}

struct sessions *session_table(const struct session *s)
{
    return s->table;
}

int session_keep(struct session *s, bool is_kept, struct error *err)
{
    if (s->is_kept != is_kept &&
        session_tell(s, is_kept ? "keep" : "release", NULL, NULL, NULL, err) < 0)
        return -1;
    s->is_kept = is_kept;
    return 0;
}

/* --- end --- */

static void free_session(struct session *s)
{
    loop_watch_free(s->idle);
    loop_watch_free(s->lifetime);
    session_copy_done(s);
    for (size_t i = 0; i < WIRE_CONTEXTS; i++)
        session_free_context(&s->contexts[i]);
    run_terms_done(&s->terms);
    pseudonyms_free(s->names);
    free(s->name);
    free(s->owner);
    free(s->why);
    free(s->evicted);
    free(s);
}

void session_discard(struct session *s)
{
    unlink_session(s);
    free_session(s);
}

/* From here on the session cannot be found, and its waiting cells are answered. */
void session_begin_end(struct session *s, const char *why)
{
    if (s->is_closing)
        return;
    s->is_closing = true;
    s->why = strdup(why ? why : "it was closed");
    unlink_session(s);
    session_end_watches(s, s->why ? s->why : "the session ended");
    session_copy_leave(s);
    loop_timer_stop(s->idle);
    loop_timer_stop(s->lifetime);
    while (s->n_queued) {
        struct session_cell *cell = TAILQ_FIRST(&s->queue);

        dequeue(s, cell);
        session_set_ended(s, &cell->run->result.error);
        session_answer(s->table, cell);
    }
    session_drop_commands(s);
}

/* When nothing of it is left. */
void session_finish_end(struct session *s)
{
    if (!s->is_closing || s->box || s->away || session_copy_lives(s))
        return;
    (void)session_tell(s, "end", "why", s->why, NULL, NULL); /* it ends, whatever can be written */
    if (s->on_end)
        s->on_end(s->user, s, s->why);
    free_session(s);
}

enum error_code session_failure(const struct session *s)
{
    return s->failure;
}

void session_close(struct session *s, const char *why)
{
    if (s->is_closing)
        return;
    session_begin_end(s, why);
    session_copy_cancel(s);
    if (s->box)
        box_kill(s->box); /* on_gone follows */
    else if (s->away)
        session_elsewhere(s)->close(s->away); /* and here */
    else
        pool_cancel_order(s->table->pool, &s->order); /* on_no_box follows */
}

static void on_idle_limit(void *arg)
{
    session_close(arg, "nothing was run for its idle time");
}

static void on_lifetime(void *arg)
{
    session_close(arg, "its lifetime is over");
}

/* --- events of the sandbox --- */

static void on_idle(void *owner, struct box *box)
{
    (void)owner;
    (void)box;
}

void session_take_back(struct session *s, struct run *cell)
{
    s->current = NULL;
    cell->box = NULL;
    cell->elsewhere = NULL;
    s->cells++;
    if (s->is_closing)
        session_set_ended(s, &cell->result.error);
    session_answer_run(s->table, cell);
    session_go_on(s);
}

static void on_done(void *owner, struct box *box, struct run *cell)
{
    (void)box;
    session_take_back(owner, cell);
}

/* Nothing was lost with its sandbox, and with a new one nobody need know: the zygote may have died
 * just when the session was opened. */
static bool is_replaceable(const struct session *s)
{
    return !s->is_closing && !s->is_used && !s->origin && !s->seed && !s->fork && !s->copy &&
           !s->checkpoints && s->losses < LOSSES_MAX;
}

static void on_gone(void *owner, struct box *box, const struct error *err)
{
    struct session *s = owner;

    box_free(box);
    pool_notice(s->table->pool);
    if (session_copy_on_gone(s, box))
        return;
    if (box != s->box) /* one that died before it could be kept */
        return;
    s->box = NULL;
    if (is_replaceable(s)) {
        s->losses++;
        session_end_watches(s, "its sandbox died");
        pool_order(s->table->pool, &s->order);
        return;
    }
    session_begin_end(s, err && err->message ? err->message : "its sandbox died");
    session_copy_cancel(s);
    session_finish_end(s);
}

static int on_reserve(void *owner, const struct box *box, uint64_t more, struct error *err)
{
    (void)box;
    return session_check_kept(owner, more, err);
}

const struct box_events session_box_events = {
    .on_idle = on_idle,
    .on_done = on_done,
    .on_command_done = session_on_command_done,
    .on_gone = on_gone,
    .on_reserve = on_reserve,
};

void session_started(struct session *s)
{
    if (s->on_start && !s->has_started)
        s->on_start(s->user, s);
    s->has_started = true;
    session_go_on(s);
}

static void on_disowned_gone(void *owner, struct box *box, const struct error *err)
{
    struct sessions *table = owner;

    (void)err;
    box_free(box);
    pool_notice(table->pool);
}

void session_disown(struct session *s, struct box *box)
{
    static const struct box_events events = {.on_idle = on_idle, .on_gone = on_disowned_gone};

    box_disown(box, &events, s->table);
}

/* The pool has found a sandbox. */
static void end_unopened(struct session *s, const struct error *err)
{
    if (!s->is_closing)
        s->failure = err->code;
    session_begin_end(s, err->message ? err->message : "Belljar is stopping");
}

static void on_box(struct pool_order *order, struct box *box)
{
    struct session *s = order->user;
    struct error err = {0};

    if (box_keep(box, &s->terms, &session_box_events, s, &err) == 0) {
        s->box = box;
        if (s->is_closing)
            box_kill(box);
        else if (s->fork)
            session_copy_on_box(s);
        else if (s->seed)
            session_seed(s);
        else
            session_started(s);
        return;
    }
    if (err.code == E_BUSY) { /* it died unnoticed: the next one */
        error_done(&err);
        session_disown(s, box);
        pool_order(s->table->pool, order);
        return;
    }
    box_kill(box);
    s->box = box; /* and its end is the session's */
    end_unopened(s, &err);
    error_done(&err);
}

/* There is no sandbox, or it was called off. */
static void on_no_box(struct pool_order *order, struct error *err)
{
    struct session *s = order->user;

    end_unopened(s, err);
    session_copy_cancel(s);
    session_finish_end(s);
}

/* --- opening --- */

bool session_is_name(const char *name)
{
    return name_is_plain(name, SESSION_NAME_MAX, true);
}

int session_check_name(const struct sessions *table, const struct session_options *options,
                       struct error *err)
{
    const char *name = options->name;

    if (!name)
        return 0;
    if (!session_is_name(name) || strncmp(name, "ses_", 4) == 0) {
        error_set(err, E_INVALID, "invalid session name");
        return error_hint(
            err,
            "use up to %d letters, digits, `.`, `_` and `-`, a letter or digit first, "
            "and not `ses_`",
            SESSION_NAME_MAX);
    }
    if (find_key(table, options->owner, name)) {
        error_set(err, E_INVALID, "a session of that name is open");
        return error_hint(err, "use it, end it, or choose another name");
    }
    return 0;
}

struct session *session_new(struct sessions *table, struct run_terms *terms,
                            const struct session_options *options)
{
    struct session *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    *s = (struct session){.table = table,
                          .owner = strdup(options->owner),
                          .names = table->options.has_names ? pseudonyms_new() : NULL,
                          .idle = loop_timer(table->loop, on_idle_limit, s),
                          .lifetime = loop_timer(table->loop, on_lifetime, s),
                          .idle_ms = options->idle_ms,
                          .lifetime_ms = options->lifetime_ms,
                          .opened_ns = loop_now_ns(),
                          .rested_ns = loop_now_ns(),
                          .evicts = options->evicts,
                          .is_kept = options->name != NULL,
                          .on_start = options->on_start,
                          .on_end = options->on_end,
                          .user = options->user};
    TAILQ_INIT(&s->queue);
    TAILQ_INIT(&s->commands);
    if (id_make(s->id, "ses_") == 0)
        s->name = strdup(options->name ? options->name : s->id);
    if (s->owner && s->idle && s->lifetime && s->name && !s->names == !table->options.has_names &&
        (table->options.is_inside || run_terms_add_env(terms, "SESSION_ID", s->name, NULL) == 0) &&
        link_session(s) == 0) {
        s->terms = *terms;
        *terms = (struct run_terms){0};
        s->order = (struct pool_order){
            .terms = &s->terms, .on_box = on_box, .on_no_box = on_no_box, .user = s};
        return s;
    }
    free_session(s);
    return NULL;
}

void session_order_box(struct session *s)
{
    if (s->lifetime_ms)
        loop_timer_start(s->lifetime, s->lifetime_ms);
    if (session_elsewhere(s))
        session_open_away(s);
    else
        pool_order(s->table->pool, &s->order);
}

int sessions_open(struct sessions *table, struct run_terms *terms,
                  const struct session_options *options, struct session **ret_session,
                  struct error *err)
{
    cleanup(buf_done) struct buf evicted = BUF_OF(SESSION_EVICTED_MAX);
    struct session *s;

    if (session_check_terms(table, terms, err) < 0 || session_check_name(table, options, err) < 0 ||
        session_make_room(table, options, NULL, 1, &evicted, err) < 0)
        return -1;
    s = session_new(table, terms, options);
    if (!s)
        return error_memory(err);
    if (evicted.len)
        s->evicted = strdup(buf_str(&evicted));
    if (session_tell(s, "open", s->evicted ? "evicted" : NULL, s->evicted, NULL, err) < 0) {
        session_discard(s);
        return -1;
    }
    session_order_box(s);
    *ret_session = s;
    return 0;
}

void session_info(const struct session *s, struct session_info *ret_info)
{
    uint64_t now = loop_now_ns();

    *ret_info = (struct session_info){
        .id = s->id,
        .parent = *s->parent ? s->parent : NULL,
        .evicted = s->evicted,
        .is_kept = s->is_kept,
        .name = s->name,
        .owner = s->owner,
        .profile = s->terms.profile,
        .terms = &s->terms,
        .uses_grants = s->terms.uses_grants,
        .state = s->is_paused             ? SESSION_PAUSED
                 : session_is_starting(s) ? SESSION_STARTING
                 : s->current || s->copy  ? SESSION_BUSY
                                          : SESSION_IDLE,
        .cells = s->cells,
        .waiting = s->n_queued,
        .commands = s->n_commands,
        .age_ms = (now - s->opened_ns) / 1000000,
        .idle_ms = s->current ? 0 : (now - s->rested_ns) / 1000000,
        .idle_limit_ms = s->idle_ms,
        .lifetime_ms = s->lifetime_ms,
        .limits = &s->terms.limits,
    };
}

void session_usage(const struct session *s, struct box_usage *ret_usage)
{
    *ret_usage = (struct box_usage){0};
    if (s->box)
        box_usage(s->box, ret_usage);
}

int sessions_new(struct loop *loop, struct pool *pool, const struct sessions_options *options,
                 struct sessions **ret_sessions, struct error *err)
{
    struct sessions *table = calloc(1, sizeof(*table));

    if (!table)
        return error_memory(err);
    *table = (struct sessions){.loop = loop,
                               .pool = pool,
                               .recorder = pool_witness(pool),
                               .masks = pool_masks(pool),
                               .options = *options};
    TAILQ_INIT(&table->all);
    TAILQ_INIT(&table->done);
    TAILQ_INIT(&table->snapshots);
    table->soon = loop_timer(loop, on_soon, table);
    if (!table->soon) {
        free(table);
        return error_memory(err);
    }
    *ret_sessions = table;
    return 0;
}

void sessions_close(struct sessions *table, const char *owner, const char *why)
{
    snapshots_forget(table, owner);
    for (struct session *s = TAILQ_FIRST(&table->all), *next; s; s = next) {
        next = TAILQ_NEXT(s, link);
        if (strcmp(s->owner, owner) == 0)
            session_close(s, why);
    }
}

void sessions_end(struct sessions *table)
{
    for (struct session *s = table ? TAILQ_FIRST(&table->all) : NULL, *next; s; s = next) {
        next = TAILQ_NEXT(s, link);
        session_close(s, "Belljar is stopping");
    }
    if (table)
        snapshots_forget(table, NULL);
}

void sessions_free(struct sessions *table)
{
    if (!table)
        return;
    while (!TAILQ_EMPTY(&table->done))
        deliver(table);
    loop_watch_free(table->soon);
    sessions_forget_lost(table);
    free(table);
}
