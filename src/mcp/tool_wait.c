/* Code that takes long: its call is answered after `wait_s` seconds, and the code goes on. wait_run
 * brings what it prints since, and its result.
 *
 * The call is a task from then on (tasks.c), found by the id of its run. Its answer is kept as that
 * of any task. */
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "mcp/running.h"

/* Output that waits to be looked at, per run. Of more than that the latest counts: the whole is
 * there to be read when the run has ended. */
#define FRESH_BYTES (64 * KIB)

#define WAIT_DEFAULT_S 30

/* When a call that cannot be answered now is looked at again. */
#define RETRY_MS 1000

/* --- output --- */

void mcp_wait_keep(struct mcp_running *r, const struct run_event *event)
{
    size_t len = event->len < FRESH_BYTES ? event->len : FRESH_BYTES, over;

    if (!r->limit || (event->kind != RUN_EVENT_STDOUT && event->kind != RUN_EVENT_STDERR))
        return;
    r->kept[event->kind == RUN_EVENT_STDERR] += event->len;
    over = r->fresh.len + len > FRESH_BYTES ? r->fresh.len + len - FRESH_BYTES : 0;
    buf_consume(&r->fresh, over);
    r->skipped += over + (event->len - len);
    if (buf_add(&r->fresh, event->data + event->len - len, len, NULL) < 0)
        r->skipped += len;
}

/* The reader of this answer has seen it. */
static void mark_shown(struct mcp_running *r)
{
    for (size_t i = 0; i < ARRAY_SIZE(r->kept); i++) {
        r->call->shown[i] += r->kept[i];
        r->kept[i] = 0;
    }
    r->skipped = 0;
    buf_clear(&r->fresh);
}

/* Adds the state of the run, and the calls that continue it. */
static void add_state(const struct mcp_running *r, const struct mcp_call *reader, struct buf *out)
{
    const struct run *run = job_run(r->job);
    const char *id = job_id(r->job);
    unsigned timeout_ms = run ? run->terms.limits.timeout_ms : 0;
    char arguments[96];

    (void)buf_printf(out, NULL, "[running] %llu s so far",
                     (unsigned long long)((loop_now_ns() - r->begun_ns) / 1000000000));
    if (timeout_ms)
        (void)buf_printf(out, NULL, ", stopped after %g s (`timeout_s`)", timeout_ms / 1000.0);
    if (run && *run->origin.session && r->note)
        (void)buf_printf(out, NULL, ", in session_id %s", run->origin.session);
    (void)snprintf(arguments, sizeof(arguments), "\"run_id\": \"%s\", \"wait_s\": %d", id,
                   WAIT_DEFAULT_S);
    (void)buf_add_str(out, "; wait and read on: ", NULL);
    (void)mcp_add_way(reader, mcp_tool_wait.name, arguments, out);
    (void)snprintf(arguments, sizeof(arguments), "\"run_id\": \"%s\"", id);
    (void)buf_add_str(out, "; stop it: ", NULL);
    (void)mcp_add_way(reader, mcp_tool_interrupt.name, arguments, out);
    (void)buf_add_str(
        out, "; other calls in this session wait for its end, session_id \"new\" does not", NULL);
    (void)buf_add_str(out, "\n", NULL);
}

/* New output, and that it goes on. */
static json_t *look(struct mcp_running *r, const struct mcp_call *reader)
{
    cleanup(buf_done) struct buf text = BUF_OF(4 * FRESH_BYTES);
    json_t *result;

    if (r->skipped)
        (void)buf_printf(&text, NULL, "… [%llu bytes omitted] …\n", (unsigned long long)r->skipped);
    (void)mcp_add_words(&text, buf_str(&r->fresh), r->fresh.len,
                        r->skipped ? MCP_WORDS_LINES : MCP_WORDS_FIRST);
    if (text.len && buf_str(&text)[text.len - 1] != '\n')
        (void)buf_add_str(&text, "\n", NULL);
    add_state(r, reader, &text);
    result = mcp_text_result(buf_str(&text), text.len, false);
    if (mcp_result_has_links(reader))
        (void)json_object_set_new(result, "structuredContent",
                                  json_pack("{s:s, s:s, s:o}", "status", "running", "id",
                                            job_id(r->job), "stdout",
                                            json_text_string(buf_str(&r->fresh), r->fresh.len)));
    return result;
}

/* --- leaving --- */

static void unlink_left(struct mcp_running *r)
{
    struct mcp_running **at = &r->host->left;

    while (*at && *at != r)
        at = &(*at)->next_left;
    if (*at)
        *at = r->next_left;
    r->is_left = false;
}

/* The run may be gone when this returns, with its connection. */
static void leave(struct mcp_running *r)
{
    struct mcp_call *call = r->call;
    json_t *result = look(r, call);

    r->is_left = true;
    r->next_left = r->host->left;
    r->host->left = r;
    mark_shown(r);
    if (mcp_call_leave(call, job_id(r->job), result))
        return;
    /* Out of memory: the client waits for the end, and gets everything then. */
    call->shown[0] = call->shown[1] = 0;
    unlink_left(r);
}

static void on_limit(void *arg)
{
    struct mcp_running *r = arg;

    /* A client that takes tasks has one by now. */
    if (!r->call || r->call->task || r->is_left)
        return;
    /* The answer to a question comes by the call that asked it. */
    if (*r->approval || !mcp_left_has_room(r->call->server, r->call->owner))
        loop_timer_start(r->limit, RETRY_MS);
    else
        leave(r);
}

int mcp_wait_begin(struct mcp_running *r, double wait_s, struct error *err)
{
    const struct mcp_call *call = r->call;

    if (!mcp_left_has_room(call->server, call->owner)) {
        error_set(err, E_BUSY, "%d runs already continue in the background", MCP_LEFT_MAX);
        return error_hint(err, "wait for one (%s), interrupt one, or leave out `wait_s`",
                          mcp_tool_wait.name);
    }
    buf_init(&r->fresh, FRESH_BYTES + KIB);
    r->limit = loop_timer(r->host->api->loop, on_limit, r);
    if (!r->limit)
        return error_memory(err);
    loop_timer_start(r->limit, (uint64_t)(wait_s * 1000) + 1);
    return 0;
}

/* --- waiting --- */

static struct mcp_call *drop_waiter(struct mcp_running *r)
{
    struct mcp_call *waiter = take_ptr(r->waiter);

    if (waiter) {
        waiter->user = NULL;
        waiter->on_cancel = NULL;
        waiter->on_tick = NULL;
    }
    loop_watch_free(take_ptr(r->waiter_limit));
    return waiter;
}

struct mcp_call *mcp_wait_end(struct mcp_running *r)
{
    unlink_left(r);
    loop_watch_free(take_ptr(r->limit));
    buf_done(&r->fresh);
    return drop_waiter(r);
}

void mcp_wait_answer(struct mcp_call *waiter, const char *run_id)
{
    struct error err = {0};
    json_t *result = NULL;
    bool goes_on = false;

    if (mcp_left_find(waiter->server, waiter->owner, run_id, &goes_on, &result) && result) {
        mcp_call_answer(waiter, json_deep_copy(result));
        return;
    }
    error_set(&err, E_NOT_FOUND, "there is no run with that `run_id` that was left");
    error_hint(&err, "a [running] line names it; results are kept for a while, and a run ends with "
                     "its connection");
    mcp_call_fail(waiter, &err);
}

static void answer_look(struct mcp_running *r)
{
    struct mcp_call *waiter = drop_waiter(r);
    json_t *result = look(r, waiter);

    mark_shown(r);
    mcp_call_answer(waiter, result);
}

static void on_waiter_limit(void *arg)
{
    answer_look(arg);
}

static void on_waiter_cancel(struct mcp_call *call)
{
    (void)drop_waiter(call->user);
}

/* Clients with a time limit of their own hear that it goes on. */
static void on_waiter_tick(struct mcp_call *call)
{
    struct mcp_running *r = call->user;
    uint64_t now = loop_now_ns(), seconds = (now - r->begun_ns) / 1000000000;
    char text[64];

    if (!mcp_call_wants_progress(call) || (now - r->reported_ns) / 1000000 < MCP_QUIET_MS)
        return;
    r->reported_ns = now;
    (void)snprintf(text, sizeof(text), "running for %llu s", (unsigned long long)seconds);
    mcp_call_progress(call, (double)seconds, 0, text, strlen(text));
}

static struct mcp_running *find_left(const struct mcp_call *call, const char *run_id)
{
    struct mcp_running *r = mcp_host_of(call)->left;

    while (r && !(strcmp(job_id(r->job), run_id) == 0 && strcmp(r->call->owner, call->owner) == 0))
        r = r->next_left;
    return r;
}

static void wait_run(struct mcp_call *call)
{
    const char *run_id = json_string_value(json_object_get(call->arguments, "run_id"));
    const json_t *given = json_object_get(call->arguments, "wait_s");
    double wait_s = given ? json_number_value(given) : WAIT_DEFAULT_S;
    struct mcp_running *r = find_left(call, run_id);
    struct loop_watch *limit;
    struct error err = {0};

    if (!r) {
        mcp_wait_answer(call, run_id);
        return;
    }
    limit = loop_timer(r->host->api->loop, on_waiter_limit, r);
    if (!limit) {
        error_memory(&err);
        mcp_call_fail(call, &err);
        return;
    }
    if (r->waiter) /* whose client may have given up: the newest one is told of new output */
        answer_look(r);
    r = find_left(call, run_id); /* that answer may have ended a connection */
    if (!r) {
        loop_watch_free(limit);
        mcp_wait_answer(call, run_id);
        return;
    }
    r->waiter = call;
    r->waiter_limit = limit;
    call->user = r;
    call->on_cancel = on_waiter_cancel;
    call->on_tick = on_waiter_tick;
    loop_timer_start(limit, (uint64_t)(wait_s * 1000) + 1);
}

/* clang-format off */
static const struct schema_field wait_fields[] = {
    {"run_id", SCHEMA_STRING, .is_required = true, .max_len = 64, .example = "\"run_…\"",
     .help = "of a [running] line"},
    {"wait_s", SCHEMA_NUMBER, .min = 0, .max = MCP_WAIT_MAX, .example = "30",
     .help = "default 30"},
    {0},
};

const struct mcp_tool mcp_tool_wait = {
    .name = "wait_run",
    .title = "Wait for a run",
    .description = "Wait for code that goes on after `wait_s`.",
    .input = wait_fields,
    .call = wait_run,
};
/* clang-format on */
