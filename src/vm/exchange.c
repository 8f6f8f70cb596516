/* Runs and cells: one request and one stream of events for each. It ends with its connection. */
#include "vm/exchange.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/task.h"
#include "engine/pool.h"
#include "vm/calls.h"
#include "vm/events.h"
#include "vm/grants.h"
#include "vm/inside.h"
#include "vm/internal.h"

#define BODY_MAX ((size_t)192 << 20)

struct exchange {
    LIST_ENTRY(exchange) link;
    struct exchanges *all;
    struct run *run;
    void (*done)(void *user, struct run *run);
    void *user;
    struct ask *ask;
    struct loop_watch *patience;
    struct loop_work failing;
    struct events_reader events;
    struct inside_live live;
    struct calls calls;
    int status;
    struct buf body; /* of the answer, or of its last event */
    bool is_stream, has_last, is_sent, is_held;
    bool is_busy, is_dropped; /* it hands on what came; it goes behind that */
    struct task reading;
};

static void exchange_free(struct exchange *x)
{
    (void)task_end(&x->reading);
    LIST_REMOVE(x, link);
    ask_free(x->ask);
    loop_work_cancel(&x->failing);
    loop_watch_free(x->patience);
    events_done(&x->events);
    calls_done(&x->calls);
    inside_live_done(&x->live);
    buf_done(&x->body);
    free(x);
}

void exchange_drop(struct exchange *x)
{
    if (x && x->is_busy && !task_is_paused(&x->reading)) { /* from within what it hands on */
        x->is_dropped = true;
        task_cancel(&x->reading);
    } else if (x) {
        exchange_free(x);
    }
}

/* Its result or error is filled in. */
static void finish(struct exchange *x)
{
    void (*done)(void *user, struct run *run) = x->done;
    struct run *run = x->run;
    void *user = x->user;

    exchange_free(x);
    done(user, run);
}

static void fail(struct exchange *x, const struct error *err)
{
    error_done(&x->run->result.error);
    error_copy(&x->run->result.error, err);
    finish(x);
}

/* --- the answer --- */

static void work_on_answer(void *arg)
{
    struct exchange *x = arg;

    x->run->result.is_emulated = x->all->is_emulated;
    x->is_busy = true;
    inside_take_answer(x->run, &x->live, x->status, buf_str(&x->body), x->body.len);
    x->is_busy = false;
}

static void end_answer(void *arg)
{
    struct exchange *x = arg;

    if (x->is_dropped)
        exchange_free(x);
    else
        finish(x);
}

static size_t limit_of(void *user, const char *name)
{
    const struct exchange *x = user;

    return inside_event_limit(x->run, name);
}

static void take_last(struct exchange *x, bool is_result)
{
    x->has_last = true;
    x->status = is_result ? 200 : 500;
    events_take_data(&x->events, &x->body);
}

static int take_event(struct exchange *x, const char *name, const char *data, size_t len,
                      struct error *err)
{
    if (strcmp(name, "start") == 0)
        return calls_take_start(&x->calls, data, len, err);
    if (strcmp(name, "call") == 0)
        return calls_take(&x->calls, data, len, err);
    return inside_take_event(x->run, &x->live, name, data, len, err);
}

static int on_run_event(void *user, const char *name, const char *data, size_t len,
                        struct error *err)
{
    struct exchange *x = user;
    bool is_result = strcmp(name, "result") == 0;
    int r;

    if (x->has_last)
        return error_set(err, E_PROTOCOL, "an event after the last one");
    if (is_result || strcmp(name, "error") == 0) {
        take_last(x, is_result);
        return 0;
    }
    x->is_busy = true;
    r = take_event(x, name, data, len, err);
    x->is_busy = false;
    return x->is_dropped ? error_set(err, E_SYSTEM, "cancelled") : r;
}

static int on_head(void *user, const struct http_head *head, struct error *err)
{
    static const char events[] = "text/event-stream";
    struct span type = http_head_get(head, "content-type");
    struct exchange *x = user;

    if (head->framing == HTTP_UNTIL_CLOSE || http_head_count(head, "content-type") > 1)
        return http_malformed("its head", err);
    x->status = head->status;
    x->is_stream = head->status == 200 && type.data && type.len >= strlen(events) &&
                   span_is_nocase((struct span){type.data, strlen(events)}, events);
    return 0;
}

static int on_piece(void *user, const char *data, size_t len, struct error *err)
{
    struct exchange *x = user;

    return x->is_stream ? events_feed(&x->events, data, len, err)
                        : buf_add(&x->body, data, len, err);
}

static void on_end(void *user)
{
    static const struct task_steps steps = {.work = work_on_answer, .done = end_answer};
    cleanup_error struct error err = {0};
    struct exchange *x = user;

    loop_timer_stop(x->patience);
    if (!x->is_stream || (x->has_last && events_is_whole(&x->events))) {
        task_begin(&x->reading, x->all->loop, &steps, x);
        return;
    }
    error_set(&err, E_PROTOCOL, "the virtual machine's answer has no result");
    fail(x, &err);
}

static void on_failed(void *user, const struct error *err)
{
    struct exchange *x = user;

    if (x->is_dropped)
        exchange_free(x);
    else
        fail(x, err);
}

/* A machine that is silent for so long is not one that we know how to end a run in. */
static void on_patience(void *arg)
{
    struct exchange *x = arg;
    struct exchanges *all = x->all;
    cleanup_error struct error err = {0};

    error_set(&err, E_SYSTEM, "the virtual machine did not answer in time");
    fail(x, &err);
    keeper_end(all->keeper);
}

/* --- the request --- */

static void start_patience(struct exchange *x)
{
    uint32_t timeout_ms = x->run->terms.limits.timeout_ms;

    if (timeout_ms && x->is_sent && !x->is_held)
        loop_timer_start(x->patience, (uint64_t)timeout_ms + GRACE_MS);
}

static void on_sent(void *user)
{
    struct exchange *x = user;

    x->is_sent = true;
    x->run->result.handed_ns = loop_now_ns();
    start_patience(x);
}

/* While the client does not read, the program waits for it, and so do we. */
void exchange_hold(void *user, struct run *run, bool is_held)
{
    struct exchanges *all = user;
    struct exchange *x;

    LIST_FOREACH(x, &all->list, link)
        if (x->run == run)
            break;
    if (!x || !x->ask || x->is_held == is_held)
        return;
    x->is_held = is_held;
    ask_hold(x->ask, is_held);
    loop_timer_stop(x->patience);
    if (!task_is_under_way(&x->reading))
        start_patience(x);
}

/* Not while the caller is still submitting. */
static void fail_now(void *arg)
{
    finish(arg);
}

static int send_request(struct exchange *x, const char *path,
                        int (*write)(const struct run *run, struct buf *out, struct error *err),
                        struct error *err)
{
    static const struct ask_events events = {.on_head = on_head,
                                             .on_piece = on_piece,
                                             .on_end = on_end,
                                             .on_failed = on_failed,
                                             .on_sent = on_sent};
    cleanup(buf_done) struct buf body = BUF_OF(BODY_MAX);
    const struct ask_order order = {.method = "POST",
                                    .path = path,
                                    .headers = "Accept: text/event-stream\r\n",
                                    .body = &body,
                                    .is_eager = !*x->run->origin.session};

    if (keeper_check_grants(x->all->keeper, &x->run->terms, err) < 0 ||
        write(x->run, &body, err) < 0)
        return -1;
    x->ask = ask_new(x->all->loop, x->all->keeper, &order, &events, x);
    return x->ask ? 0 : error_memory(err);
}

struct exchange *exchange_new(struct exchanges *all, struct run *run, const char *path,
                              int (*body)(const struct run *run, struct buf *out,
                                          struct error *err),
                              void (*done)(void *user, struct run *run), void *user)
{
    struct exchange *x = calloc(1, sizeof(*x));

    if (!x)
        return NULL;
    *x = (struct exchange){.all = all, .run = run, .done = done, .user = user};
    x->live.cpus = all->cpus;
    x->calls = (struct calls){.all = all, .run = run};
    LIST_INIT(&x->calls.replies);
    LIST_INSERT_HEAD(&all->list, x, link);
    buf_init(&x->body, inside_event_limit(run, "result"));
    events_init(&x->events, limit_of, on_run_event, x);
    x->patience = loop_timer(all->loop, on_patience, x);
    if (!x->patience)
        error_memory(&run->result.error);
    if (!x->patience || send_request(x, path, body, &run->result.error) < 0)
        loop_work_post(all->loop, &x->failing, fail_now, x);
    return x;
}

/* --- runs --- */

static void on_done(void *user, struct run *run)
{
    struct exchanges *all = user;

    pool_finish(all->pool, run);
}

static void start(void *user, struct run *run)
{
    struct exchanges *all = user;

    if (exchange_new(all, run, "/v1/run", inside_request, on_done, all))
        return;
    error_memory(&run->result.error);
    pool_finish(all->pool, run);
}

/* The engine inside sees the end of the connection, and ends the run. */
static void cancel(void *user, struct run *run)
{
    struct exchanges *all = user;
    struct exchange *x;

    LIST_FOREACH(x, &all->list, link)
        if (x->run == run) {
            exchange_drop(x);
            return;
        }
}

/* --- life --- */

struct exchanges *exchanges_new(void)
{
    struct exchanges *all = calloc(1, sizeof(*all));

    if (!all)
        return NULL;
    LIST_INIT(&all->list);
    LIST_INIT(&all->aways);
    LIST_INIT(&all->errands);
    all->elsewhere =
        (struct elsewhere){.user = all, .start = start, .cancel = cancel, .hold = exchange_hold};
    away_fill(&all->elsewhere);
    away_file_fill(&all->elsewhere);
    return all;
}

const struct elsewhere *exchanges_elsewhere(const struct exchanges *exchanges)
{
    return &exchanges->elsewhere;
}

static void on_machine_end(void *user)
{
    away_lose_all(user);
}

int exchanges_open(struct exchanges *exchanges, struct engine *engine, const struct config *config,
                   struct error *err)
{
    exchanges->loop = engine->loop;
    exchanges->pool = engine->pool;
    exchanges->masks = engine->masks;
    exchanges->outside = &engine->outside;
    exchanges->cpus = (unsigned)config->machine_cpus;
    exchanges->is_emulated = strcmp(config->machine, "tcg") == 0;
    if (vm_grants_check_setting(config, err) < 0 ||
        keeper_new(engine->loop, config, engine->cgroups, &exchanges->keeper, err) < 0)
        return -1;
    machine_door_init(&exchanges->door, exchanges->keeper);
    keeper_on_end(exchanges->keeper, on_machine_end, exchanges);
    keeper_start(exchanges->keeper);
    return 0;
}

const struct machine_door *exchanges_door(const struct exchanges *exchanges)
{
    return &exchanges->door;
}

void exchanges_free(struct exchanges *exchanges)
{
    if (!exchanges)
        return;
    away_free_all(exchanges);
    keeper_free(exchanges->keeper);
    free(exchanges);
}
