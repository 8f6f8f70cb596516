#include "vm/exchange.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

#include "base/cleanup.h"
#include "base/http1.h"
#include "base/task.h"
#include "vm/door.h"
#include "vm/grants.h"
#include "vm/inside.h"
#include "vm/keeper.h"

#define REQUEST_MAX ((size_t)192 << 20)

/* Beyond the time limit of the run: for a sandbox, and for the answer. */
#define GRACE_MS 120000

/* Read in one turn. */
#define PIECE_BYTES ((size_t)128 << 10)

struct exchange {
    LIST_ENTRY(exchange) link;
    struct exchanges *all;
    struct run *run;
    struct keeper_guest guest;
    struct bufferevent *socket;
    struct loop_watch *patience;
    struct loop_work failing;
    struct buf request;
    struct http_response response;
    struct buf body;
    struct task reading;
};

struct exchanges {
    struct elsewhere elsewhere;
    struct loop *loop;
    struct pool *pool;
    struct keeper *keeper;
    struct machine_door door;
    bool is_emulated;
    LIST_HEAD(exchange_list, exchange) list;
};

static void exchange_free(struct exchange *x)
{
    (void)task_end(&x->reading);
    LIST_REMOVE(x, link);
    keeper_leave(x->all->keeper, &x->guest);
    loop_work_cancel(&x->failing);
    loop_watch_free(x->patience);
    if (x->socket)
        bufferevent_free(x->socket);
    buf_done(&x->request);
    buf_done(&x->body);
    http_response_done(&x->response);
    free(x);
}

/* Its result or error is filled in. */
static void finish(struct exchange *x)
{
    struct pool *pool = x->all->pool;
    struct run *run = x->run;

    exchange_free(x);
    pool_finish(pool, run);
}

static void fail(struct exchange *x, const struct error *err)
{
    error_copy(&x->run->result.error, err);
    finish(x);
}

/* --- the answer --- */

static void work_on_answer(void *arg)
{
    struct exchange *x = arg;

    x->run->result.is_emulated = x->all->is_emulated;
    inside_take_answer(x->run, x->response.head.status, buf_str(&x->body), x->body.len);
}

static void end_answer(void *arg)
{
    finish(arg);
}

static void take_answer(struct exchange *x)
{
    static const struct task_steps steps = {.work = work_on_answer, .done = end_answer};

    loop_timer_stop(x->patience);
    bufferevent_free(take_ptr(x->socket));
    task_begin(&x->reading, x->all->loop, &steps, x);
}

static int on_piece(void *user, const char *data, size_t len, struct error *err)
{
    struct exchange *x = user;

    return buf_add(&x->body, data, len, err);
}

static void on_read(struct bufferevent *socket, void *arg)
{
    struct evbuffer *input = bufferevent_get_input(socket);
    struct exchange *x = arg;
    cleanup_error struct error err = {0};
    size_t len;

    while ((len = evbuffer_get_contiguous_space(input)) > 0 && !x->response.is_over) {
        const char *data = (const char *)evbuffer_pullup(input, (ssize_t)len);

        if (http_response_feed(&x->response, data, len, on_piece, x, &err) < 0) {
            error_wrap(&err, "the virtual machine's answer");
            fail(x, &err);
            return;
        }
        (void)evbuffer_drain(input, len);
    }
    if (x->response.is_over)
        take_answer(x);
}

static void on_event(struct bufferevent *socket, short what, void *arg)
{
    cleanup_error struct error err = {0};

    (void)socket;
    if (what & BEV_EVENT_CONNECTED)
        return;
    error_set(&err, E_SYSTEM, "the virtual machine ended while the program ran");
    error_hint(&err, "the next run starts another one; run the program again if that does no harm");
    fail(arg, &err);
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

static void on_connection(struct keeper_guest *guest, int fd, const struct error *err)
{
    struct exchange *x = (struct exchange *)((char *)guest - offsetof(struct exchange, guest));
    struct event_base *base = loop_base(x->all->loop);
    uint32_t timeout_ms = x->run->terms.limits.timeout_ms;
    struct error memory = {0};

    if (fd < 0) {
        fail(x, err);
        return;
    }
    x->socket = bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
    if (!x->socket || bufferevent_write(x->socket, buf_str(&x->request), x->request.len) < 0) {
        if (!x->socket)
            (void)close(fd);
        error_memory(&memory);
        fail(x, &memory);
        error_done(&memory);
        return;
    }
    buf_done(&x->request);
    x->run->result.handed_ns = loop_now_ns();
    bufferevent_setcb(x->socket, on_read, NULL, on_event, x);
    bufferevent_setwatermark(x->socket, EV_READ, 0, PIECE_BYTES);
    (void)bufferevent_enable(x->socket, EV_READ | EV_WRITE);
    if (timeout_ms)
        loop_timer_start(x->patience, (uint64_t)timeout_ms + GRACE_MS);
}

static int write_request(const struct keeper *keeper, const struct run *run, struct buf *request,
                         struct error *err)
{
    cleanup(buf_done) struct buf body = BUF_OF(REQUEST_MAX);

    if (keeper_check_grants(keeper, &run->terms, err) < 0 || inside_request(run, &body, err) < 0)
        return -1;
    if (buf_printf(request, err,
                   "POST /v1/run HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                   "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                   body.len) < 0)
        return -1;
    return buf_add(request, body.data, body.len, err);
}

/* Not while the caller is still submitting. */
static void fail_now(void *arg)
{
    finish(arg);
}

static void start(void *user, struct run *run)
{
    struct exchanges *all = user;
    struct exchange *x = calloc(1, sizeof(*x));

    if (!x) {
        error_memory(&run->result.error);
        pool_finish(all->pool, run);
        return;
    }
    *x = (struct exchange){.all = all, .run = run, .guest = {.on_connection = on_connection}};
    LIST_INSERT_HEAD(&all->list, x, link);
    buf_init(&x->request, REQUEST_MAX + 4096);
    buf_init(&x->body, INSIDE_ANSWER_MAX);
    http_response_init(&x->response);
    x->patience = loop_timer(all->loop, on_patience, x);
    if (!x->patience)
        error_memory(&run->result.error);
    if (x->patience && write_request(all->keeper, run, &x->request, &run->result.error) == 0)
        keeper_ask(all->keeper, &x->guest);
    else
        loop_work_post(all->loop, &x->failing, fail_now, x);
}

/* The engine inside sees the end of the connection, and ends the run. */
static void cancel(void *user, struct run *run)
{
    struct exchanges *all = user;
    struct exchange *x;

    LIST_FOREACH(x, &all->list, link)
        if (x->run == run) {
            exchange_free(x);
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
    all->elsewhere = (struct elsewhere){.user = all, .start = start, .cancel = cancel};
    return all;
}

const struct elsewhere *exchanges_elsewhere(const struct exchanges *exchanges)
{
    return &exchanges->elsewhere;
}

int exchanges_open(struct exchanges *exchanges, struct engine *engine, const struct config *config,
                   struct error *err)
{
    exchanges->loop = engine->loop;
    exchanges->pool = engine->pool;
    exchanges->is_emulated = strcmp(config->machine, "tcg") == 0;
    if (vm_grants_check_setting(config, err) < 0 ||
        keeper_new(engine->loop, config, engine->cgroups, &exchanges->keeper, err) < 0)
        return -1;
    machine_door_init(&exchanges->door, exchanges->keeper);
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
    keeper_free(exchanges->keeper);
    free(exchanges);
}
