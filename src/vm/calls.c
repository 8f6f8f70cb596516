#include "vm/calls.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "calls/call.h"
#include "engine/box.h"
#include "engine/pool.h"
#include "vm/internal.h"

#define ANSWER_MAX ((size_t)32 << 20)
#define EVENT_MAX  ((size_t)8 << 20)

/* An honest machine has no more calls under way than the wire permits; each of their answers may
 * be read late. */
#define REPLIES_MAX (4 * WIRE_CALLS_MAX)

/* An answer on its way to the machine. */
struct reply {
    LIST_ENTRY(reply) link;
    struct calls *calls;
    struct ask *ask;
    struct loop_watch *patience;
};

static void reply_free(struct reply *reply)
{
    LIST_REMOVE(reply, link);
    reply->calls->n_replies--;
    ask_free(reply->ask);
    loop_watch_free(reply->patience);
    free(reply);
}

static int on_head(void *user, const struct http_head *head, struct error *err)
{
    (void)user;
    (void)head;
    (void)err;
    return 0;
}

static int on_piece(void *user, const char *data, size_t len, struct error *err)
{
    (void)user;
    (void)data;
    (void)len;
    (void)err;
    return 0;
}

static void on_end(void *user)
{
    reply_free(user);
}

/* The program waits for it until its time is over, or has ended. */
static void on_failed(void *user, const struct error *err)
{
    (void)err;
    reply_free(user);
}

static void on_patience(void *arg)
{
    reply_free(arg);
}

/* NULL: out of memory. */
static struct reply *reply_new(struct calls *calls)
{
    struct reply *reply = calloc(1, sizeof(*reply));

    if (!reply)
        return NULL;
    reply->calls = calls;
    LIST_INSERT_HEAD(&calls->replies, reply, link);
    calls->n_replies++;
    reply->patience = loop_timer(calls->all->loop, on_patience, reply);
    if (reply->patience) {
        loop_timer_start(reply->patience, GRACE_MS);
        return reply;
    }
    reply_free(reply);
    return NULL;
}

static void on_reply(void *user, uint64_t id, bool is_ok, struct span text)
{
    static const struct ask_events events = {
        .on_head = on_head, .on_piece = on_piece, .on_end = on_end, .on_failed = on_failed};
    cleanup(buf_done) struct buf body = BUF_OF(ANSWER_MAX);
    struct calls *calls = user;
    char path[128];
    const struct ask_order order = {.method = "POST", .path = path, .body = &body};
    struct reply *reply = reply_new(calls);

    (void)snprintf(path, sizeof(path), "/v1/inside/runs/%s/calls/%" PRIu64, calls->inside, id);
    if (reply && buf_printf(&body, NULL, "{\"%s\":", is_ok ? "value" : "error") == 0 &&
        buf_add(&body, text.data, text.len, NULL) == 0 && buf_add_str(&body, "}", NULL) == 0)
        reply->ask = ask_new(calls->all->loop, calls->all->keeper, &order, &events, reply);
    if (reply && !reply->ask)
        reply_free(reply);
}

static int record(void *user, const struct call_record *call, struct error *err)
{
    const struct calls *calls = user;

    return pool_record_call(calls->all->pool, call, err);
}

static void on_ask(void *user, struct approval *approval)
{
    const struct calls *calls = user;
    struct run *run = calls->run;

    box_show_arguments(run, approval);
    if (run->on_event)
        run->on_event(run, &(struct run_event){.kind = RUN_EVENT_APPROVAL, .approval = approval});
}

/* The machine keeps that to itself, unless it was taken over. */
static void on_line_wanted(void *user, struct call *call)
{
    (void)user;
    call_give_line(call, NULL, 0);
}

static struct call_desk *desk_of(struct calls *calls)
{
    bool is_python = calls->run->program.language == RUN_PYTHON;

    if (!calls->desk)
        calls->desk = call_desk_new(&(struct call_desk_options){.loop = calls->all->loop,
                                                                .outside = calls->all->outside,
                                                                .fd = -1,
                                                                .record = record,
                                                                .on_ask = on_ask,
                                                                .on_line_wanted = on_line_wanted,
                                                                .on_reply = on_reply,
                                                                .is_for_input = !is_python,
                                                                .user = calls});
    return calls->desk;
}

static int malformed(struct error *err)
{
    return error_set(err, E_PROTOCOL, "malformed call of the virtual machine");
}

static int load(const char *data, size_t len, json_t **ret_event, struct error *err)
{
    static const struct json_text_limits limits = {
        .bytes = EVENT_MAX, .depth = 110, .allows_nul = true};

    return json_text_load(data, len, &limits, ret_event, err) < 0
               ? error_wrap(err, "a call of the virtual machine")
               : 0;
}

int calls_take_start(struct calls *calls, const char *data, size_t len, struct error *err)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    cleanup_json json_t *event = NULL;
    const char *id;

    if (load(data, len, &event, err) < 0)
        return -1;
    id = json_get_text(event, "id");
    if (*calls->inside || !*id || strlen(id) >= sizeof(calls->inside) ||
        strspn(id, plain) != strlen(id))
        return malformed(err);
    memcpy(calls->inside, id, strlen(id) + 1);
    return 0;
}

/* The engine inside passes on no more of them. */
static int check_count(struct calls *calls, struct error *err)
{
    if (calls->n_replies >= REPLIES_MAX)
        return error_set(err, E_PROTOCOL, "too many calls at once");
    if (++calls->n_calls > LIMIT_CALLS)
        return error_set(err, E_PROTOCOL, "too many calls of one run");
    return 0;
}

int calls_take(struct calls *calls, const char *data, size_t len, struct error *err)
{
    cleanup_json json_t *event = NULL;
    cleanup(buf_done) struct buf text = BUF_OF(EVENT_MAX);
    const json_t *arguments, *number;
    const char *name;
    struct wire_call call;

    if (check_count(calls, err) < 0 || load(data, len, &event, err) < 0)
        return -1;
    arguments = json_object_get(event, "arguments");
    number = json_object_get(event, "call");
    name = json_get_text(event, "name");
    if (!*calls->inside || !json_is_integer(number) || json_integer_value(number) <= 0 ||
        !json_is_object(arguments) || strlen(name) > WIRE_CALL_NAME_MAX)
        return malformed(err);
    if (json_text_dump(arguments, JSON_TEXT_COMPACT, &text, err) < 0)
        return -1;
    call = (struct wire_call){.id = (uint64_t)json_integer_value(number),
                              .name = span_of(name),
                              .arguments = {buf_str(&text), text.len}};
    if (!desk_of(calls))
        return error_memory(err);
    return call_desk_take(calls->desk, calls->run, &call)
               ? 0
               : error_set(err, E_PROTOCOL, "too many calls at once");
}

void calls_done(struct calls *calls)
{
    call_desk_free(take_ptr(calls->desk));
    while (!LIST_EMPTY(&calls->replies))
        reply_free(LIST_FIRST(&calls->replies));
}
