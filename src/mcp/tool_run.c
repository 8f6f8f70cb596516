/* Running code: a job like those of the HTTP API, with its output as progress on the way. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "admit/admit.h"
#include "base/cleanup.h"
#include "base/id.h"
#include "base/json.h"
#include "base/net.h"
#include "base/terminal_text.h"
#include "calls/approval.h"
#include "mcp/running.h"
#include "mcp/tools.h"
#include "store/skill.h"

/* Of each stream so much is in an answer for each token it may have. The whole is there to be read
 * in pages. */
#define BYTES_OF_TOKEN ((uint64_t)3)

/* The interval at which output is sent as progress, and the bytes at a time. */
#define PROGRESS_MS    200
#define PROGRESS_BYTES (4 * KIB)

/* The longest question to the client. */
#define QUESTION_BYTES (8 * KIB)

/* The time limit of code that goes on after its call, where none was asked for. */
#define LONG_S 600

/* Returns the call that waits for the run, if there is one: it is to be answered. */
static struct mcp_call *free_running(struct mcp_running *r)
{
    struct mcp_running **at = &r->host->asked;
    struct mcp_call *waiter = mcp_wait_end(r);

    while (*at && *at != r)
        at = &(*at)->next;
    if (*at)
        *at = r->next;
    loop_watch_free(r->timer);
    buf_done(&r->said);
    free(r->note);
    free(r);
    return waiter;
}

/* --- progress --- */

/* Reports of the program count as they are; output in between counts up a little. */
static void tell(struct mcp_running *r, const char *text, size_t len)
{
    double value = r->total > 0 ? r->done : (double)++r->n_reports;

    r->reported_ns = loop_now_ns();
    mcp_call_progress(r->call, value, r->total, text, len);
}

static void tell_said(struct mcp_running *r)
{
    if (!r->has_news)
        return;
    r->has_news = false;
    tell(r, buf_str(&r->said), r->said.len);
    buf_clear(&r->said);
}

static void on_timer(void *arg)
{
    struct mcp_running *r = arg;

    r->is_waiting = false;
    if (r->call)
        tell_said(r);
}

static void tell_soon(struct mcp_running *r)
{
    if (r->is_waiting)
        return;
    if ((loop_now_ns() - r->reported_ns) / 1000000 >= PROGRESS_MS) {
        tell_said(r);
        return;
    }
    r->is_waiting = true;
    loop_timer_start(r->timer, PROGRESS_MS);
}

/* --- questions --- */

static void on_cancel(struct mcp_call *call);
static void on_tick(struct mcp_call *call);

/* Yes or no is all there is to say, unless something is not shown: then how much that is. A host
 * may be allowed for good. */
static json_t *question_schema(const struct approval *approval, uint64_t unseen)
{
    if (!unseen && approval->can_be_kept)
        return json_pack("{s:s, s:{s:{s:s, s:s, s:s, s:b}}}", "type", "object", "properties",
                         "always", "type", "boolean", "title", "Always", "description",
                         "Allow this host from now on, not for this session only", "default", 0);
    if (!unseen)
        return json_pack("{s:s, s:{}}", "type", "object", "properties");
    return json_pack("{s:s, s:{s:{s:s, s:s, s:s}}, s:[s]}", "type", "object", "properties",
                     "accept_hidden", "type", "integer", "title", "Bytes not shown", "description",
                     "Repeat the number of bytes that are not shown to allow the call anyway",
                     "required", "accept_hidden");
}

#define CONNECT_WORDS "The program wants to connect to a host that is not granted, "

/* A call that is not allowed as such, or a host. *ret_unseen: bytes that the question does not
 * show. */
static json_t *question(const struct approval *approval, uint64_t *ret_unseen)
{
    cleanup(buf_done) struct buf words = {0}, arguments = {0};
    size_t len = approval->shown ? strlen(approval->shown) : 0;

    *ret_unseen = approval->hidden;
    buf_init(&words, QUESTION_BYTES);
    buf_init(&arguments, QUESTION_BYTES - KIB);
    if (strcmp(approval->name, APPROVAL_CONNECT) == 0
            ? buf_add_str(&words, CONNECT_WORDS, NULL) < 0
            : buf_printf(&words, NULL, "The program wants to call %s with ", approval->name) < 0)
        return NULL;
    if (!approval->shown || terminal_exact_line(approval->shown, len, &arguments, NULL) < 0 ||
        buf_add(&words, buf_str(&arguments), arguments.len, NULL) < 0) {
        (void)buf_printf(&words, NULL, "arguments too long to show (%zu bytes)", len);
        *ret_unseen = len ? len : 1;
    }
    if (*ret_unseen)
        (void)buf_printf(&words, NULL,
                         "\n%llu bytes of this are NOT shown. To allow it anyway, answer with "
                         "that number as accept_hidden.",
                         (unsigned long long)*ret_unseen);
    return json_pack("{s:{s:s, s:{s:o, s:o}}}", "approval", "method", "elicitation/create",
                     "params", "message", json_text_string(buf_str(&words), words.len),
                     "requestedSchema", question_schema(approval, *ret_unseen));
}

/* In the modern era the question is the answer to this call, and the run waits for the next. */
static void ask(struct mcp_running *r, const struct approval *approval)
{
    struct mcp_call *call = r->call;
    bool ends = call->era == MCP_MODERN && !call->task;
    json_t *asks;

    if (*r->approval || r->is_left)
        return; /* one at a time, and nobody is there to be asked for a run that was left */
    memcpy(r->approval, approval->id, sizeof(r->approval));
    r->hidden = approval->hidden;
    asks = question(approval, &r->unseen);
    if (ends) {
        tell_said(r);
        r->call = NULL;
        r->next = r->host->asked;
        r->host->asked = r;
        call->user = NULL;
        call->on_cancel = NULL;
        call->on_tick = NULL;
    }
    mcp_call_ask(call, asks, json_pack("{s:s}", "run", approval->run->id));
}

/* A yes to something of which not all was shown has to say how much that is. */
static bool said_yes(const struct mcp_running *r)
{
    const json_t *answer = json_object_get(r->call->answers, "approval");
    const char *action = json_string_value(json_object_get(answer, "action"));
    const json_t *said = json_object_get(json_object_get(answer, "content"), "accept_hidden");

    if (!action || strcmp(action, "accept") != 0)
        return false;
    return !r->unseen || (json_is_integer(said) && json_integer_value(said) > 0 &&
                          (uint64_t)json_integer_value(said) == r->unseen);
}

static bool said_always(const struct mcp_running *r)
{
    const json_t *answer = json_object_get(r->call->answers, "approval");

    return !r->unseen &&
           json_is_true(json_object_get(json_object_get(answer, "content"), "always"));
}

/* Finds the run whose client returns: we sealed the state, for this owner. */
static struct mcp_running *find_asked(const struct mcp_call *call)
{
    const char *run = json_string_value(json_object_get(call->state, "run"));
    struct mcp_running *r = mcp_host_of(call)->asked;

    while (r && !(run && strcmp(job_id(r->job), run) == 0))
        r = r->next;
    return r;
}

static void take_up(struct mcp_running *r, struct mcp_call *call)
{
    struct mcp_running **at = &r->host->asked;

    while (*at && *at != r)
        at = &(*at)->next;
    if (*at)
        *at = r->next;
    r->call = call;
    call->user = r;
    call->on_cancel = on_cancel;
    call->on_tick = on_tick;
}

/* Several threads may wait: the next is asked when one is answered. By then the run, and whatever
 * waited for it, may be gone. */
static void ask_next(struct mcp_running *r)
{
    const struct approval *next =
        approval_first(pool_approvals(r->host->api->pool), job_id(r->job));

    if (next && r->call)
        ask(r, next);
}

static void pass_answer(struct mcp_running *r)
{
    char approval[ID_SIZE];
    bool is_yes = said_yes(r), is_always = said_always(r);

    memcpy(approval, r->approval, sizeof(approval));
    *r->approval = '\0';
    json_decref(r->call->answers);
    json_decref(r->call->state);
    r->call->answers = r->call->state = NULL;
    /* Its time may be over; then the program knows already. The run goes on in any case: nothing of
     * ours is freed by an answer. */
    (void)approval_answer(pool_approvals(r->host->api->pool), job_id(r->job),
                          &(struct approval_word){.approval_id = approval,
                                                  .is_yes = is_yes,
                                                  .is_always = is_always,
                                                  .accept_hidden = r->hidden},
                          NULL);
    ask_next(r);
}

/* True: the call brings the answer to a question of a run that is under way. */
static bool is_continued(struct mcp_call *call)
{
    struct mcp_running *r = call->user;
    struct error err = {0};

    if (!call->answers && !call->state)
        return false;
    if (!r && !(r = find_asked(call))) {
        error_set(&err, E_NOT_FOUND, "the run that asked has ended");
        error_hint(&err, "its question was not answered in time; run the program again");
        mcp_call_fail(call, &err);
        return true;
    }
    if (!r->call)
        take_up(r, call);
    pass_answer(r);
    return true;
}

/* Progress is a glimpse: of much output at once the latest counts, and the answer has it all. */
static void on_event(void *user, const struct run_event *event)
{
    struct mcp_running *r = user;
    size_t len = event->len < PROGRESS_BYTES ? event->len : PROGRESS_BYTES;

    mcp_wait_keep(r, event);
    if (event->kind == RUN_EVENT_APPROVAL && r->call)
        ask(r, event->approval);
    if (event->kind == RUN_EVENT_DISPLAY || event->kind == RUN_EVENT_APPROVAL || !r->call ||
        !mcp_call_wants_progress(r->call))
        return;
    if (event->kind == RUN_EVENT_PROGRESS) {
        r->done = (double)event->done;
        r->total = (double)event->total;
        buf_clear(&r->said);
    }
    if (r->said.len + len > PROGRESS_BYTES)
        buf_clear(&r->said);
    r->has_news = true;
    if (!len || buf_add(&r->said, event->data + event->len - len, len, NULL) == 0)
        tell_soon(r);
}

static void on_tick(struct mcp_call *call)
{
    struct mcp_running *r = call->user;
    char text[64];

    if (!mcp_call_wants_progress(call) || (loop_now_ns() - r->reported_ns) / 1000000 < MCP_QUIET_MS)
        return;
    (void)snprintf(text, sizeof(text), "running for %llu s",
                   (unsigned long long)((loop_now_ns() - call->begun_ns) / 1000000000));
    tell(r, text, strlen(text));
}

/* --- the end --- */

static void on_cancel(struct mcp_call *call)
{
    struct mcp_running *r = call->user;
    struct mcp_call *waiter;
    struct error err = {0};

    job_abandon(r->job);
    waiter = free_running(r);
    if (!waiter)
        return;
    error_set(&err, E_NOT_FOUND, "the run was cancelled");
    error_hint(&err, "it ended with the connection, or the task, that it belonged to");
    mcp_call_fail(waiter, &err);
}

/* Clients that watch these files are notified, and the list of resources has changed. */
static void tell_files(const struct mcp_call *call, const struct run *run)
{
    bool is_other = false;

    for (size_t i = 0; *run->origin.session && i < run->result.n_files; i++) {
        cleanup(buf_done) struct buf uri = {0};

        buf_init(&uri, MCP_URI_MAX);
        is_other |= run->result.files[i].change != RUN_FILE_CHANGED;
        if (!run->result.files[i].is_masked &&
            mcp_file_uri(run->origin.session, run->result.files[i].path, &uri, NULL) == 0)
            mcp_server_updated(call->server, call->owner, buf_str(&uri));
    }
    if (is_other)
        mcp_server_changed_for(call->server, call->owner, MCP_RESOURCES);
}

/* Messages for the person who supervises the agent. */
static void log_run(struct mcp_call *call, const struct run *run)
{
    if (run->result.masked.count)
        mcp_call_log(call, MCP_LOG_NOTICE, "belljar",
                     json_pack("{s:s, s:s, s:I}", "message", "secrets were masked", "run", run->id,
                               "count", (json_int_t)run->result.masked.count));
    if (run->result.state == RUN_STATE_LOST)
        mcp_call_log(call, MCP_LOG_WARNING, "belljar",
                     json_pack("{s:s, s:s}", "message", "a kernel was restarted", "session",
                               run->origin.session));
}

static void answer_run(struct mcp_running *r, const struct run *run)
{
    struct mcp_call *call = r->call;
    struct error err = {0};
    json_t *result;

    if (run->result.error.code != E_NONE) {
        error_copy(&err, &run->result.error);
        mcp_call_fail(call, &err);
        return;
    }
    tell_files(call, run);
    log_run(call, run);
    if (r->settle && r->settle(call, run))
        return;
    result = r->answer(call, run, r->note);
    mcp_call_answer(call, result);
}

static void on_done(void *user, const struct run *run)
{
    struct mcp_running *r = user;
    struct mcp_call *waiter;

    /* Without a call the client did not come back; the answer is kept like any other. */
    if (r->call) {
        r->call->on_cancel = NULL;
        r->call->on_tick = NULL;
        r->call->user = NULL;
        answer_run(r, run);
    }
    waiter = free_running(r);
    if (waiter)
        mcp_wait_answer(waiter, run->id);
}

/* --- the beginning --- */

static uint64_t output_bytes(const struct mcp_call *call)
{
    uint64_t bytes = call->max_tokens * BYTES_OF_TOKEN;

    return bytes && bytes < LIMIT_OUTPUT_BYTES_MAX ? bytes : LIMIT_OUTPUT_BYTES_MAX;
}

double mcp_long_s(const struct mcp_call *call)
{
    const struct api *api = mcp_host_of(call)->api;
    double most = api_limit_max(api, call->caller, RUN_LIMIT_ROW_timeout_s);
    struct run_limits set = {0};

    config_limits(api->config, CONFIG_FILE, &set);
    return set.timeout_ms ? 0 : most < LONG_S ? most : LONG_S;
}

static void set_time(const struct mcp_call *call, const struct mcp_program *program,
                     struct run_request *wanted)
{
    double long_s = mcp_long_s(call);

    if (program->has_timeout)
        run_request_set_limit(wanted, RUN_LIMIT_ROW_timeout_s, program->timeout_s);
    else if (program->has_wait && long_s > 0)
        run_request_set_limit(wanted, RUN_LIMIT_ROW_timeout_s, long_s);
}

static int admit(struct mcp_call *call, const struct mcp_program *program, struct run **ret_run,
                 struct error *err)
{
    struct admission admission = mcp_admission(call);
    cleanup(run_request_done) struct run_request wanted = {
        .code = {program->code, program->len},
        .language = program->language,
        .profile = program->profile,
        .masks_all = program->masks_all,
        .session_name = program->session_name,
        .is_check = program->is_check,
        .max_output_bytes = program->needs_all ? LIMIT_OUTPUT_BYTES_MAX : output_bytes(call),
        .can_ask = json_object_get(call->capabilities, "elicitation") != NULL,
    };

    set_time(call, program, &wanted);
    if (!program->session && mcp_ask_net(call, &wanted, err) < 0)
        return -1;
    admission.session = program->session;
    /* Files written there would be gone before anybody could look at them. */
    admission.cow = ADMISSION_COW_READS;
    admission.has_skills = admission.may_keep = true;
    return admit_request(&admission, &wanted, ret_run, err);
}

static struct mcp_running *new_running(struct mcp_call *call, const struct mcp_program *program)
{
    struct mcp_running *r = calloc(1, sizeof(*r));

    if (!r)
        return NULL;
    r->call = call;
    r->host = mcp_host_of(call);
    r->note = program->note ? strdup(program->note) : NULL;
    r->answer = program->answer;
    r->settle = program->settle;
    r->reported_ns = r->begun_ns = loop_now_ns();
    buf_init(&r->said, PROGRESS_BYTES);
    r->timer = loop_timer(mcp_host_of(call)->api->loop, on_timer, r);
    if (!r->timer) {
        free(r);
        return NULL;
    }
    return r;
}

static void start(struct mcp_call *call, const struct mcp_program *program)
{
    struct api *api = mcp_host_of(call)->api;
    struct mcp_running *r = new_running(call, program);
    struct job_order order = {
        .session = program->session,
        .owner = call->owner,
        .caller = call->caller,
        .follower = {.on_event = on_event, .on_done = on_done, .user = r},
    };
    unsigned retry_s = 0;
    struct error err = {0};

    if (!r)
        error_memory(&err);
    call->user = r;
    if (!r || (program->has_wait && mcp_wait_begin(r, program->wait_s, &err) < 0) ||
        admit(call, program, &order.run, &err) < 0 ||
        jobs_start(api->jobs, &order, &retry_s, &r->job, &err) < 0) {
        if (r)
            (void)free_running(r);
        if (retry_s && !err.hint)
            error_hint(&err, "try again in %u s", retry_s);
        mcp_call_fail(call, &err);
        return;
    }
    call->on_cancel = on_cancel;
    call->on_tick = on_tick;
}

void mcp_run(struct mcp_call *call, const struct mcp_program *program)
{
    if (!is_continued(call))
        start(call, program);
}

/* The first result of a session says where its code is, and a new one how it is found again. */
static void add_greeting(const struct mcp_call *call, struct mcp_program *program, struct buf *out)
{
    struct session_info info;

    session_info(program->session, &info);
    if (info.cells || info.waiting || info.state == SESSION_BUSY)
        return;
    if (program->is_new)
        (void)buf_printf(out, NULL, "new session %s: pass it as session_id to continue in it. ",
                         info.id);
    else if (program->note)
        (void)buf_printf(out, NULL, "%s. ", program->note);
    mcp_evicted_note(info.evicted, out);
    if (out->len || !mcp_place_mark(call, program->session, out))
        mcp_place_note(call, program->session, out);
    while (out->len && out->data[out->len - 1] == ' ')
        out->data[--out->len] = '\0';
    if (out->len)
        program->note = buf_str(out);
}

void mcp_run_cell(struct mcp_call *call, const char *argument, enum run_language language)
{
    const json_t *code = json_object_get(call->arguments, argument),
                 *timeout = json_object_get(call->arguments, "timeout_s"),
                 *wait = json_object_get(call->arguments, "wait_s");
    struct mcp_program program = {
        .code = json_string_value(code),
        .len = json_string_length(code),
        .language = language,
        .has_timeout = timeout != NULL,
        .timeout_s = json_number_value(timeout),
        .has_wait = wait != NULL,
        .wait_s = json_number_value(wait),
        .answer = mcp_result,
    };
    const char *id = json_string_value(json_object_get(call->arguments, "session_id"));
    cleanup(buf_done) struct buf note = {0};
    struct error err = {0};

    if (is_continued(call))
        return;
    if (mcp_session_pick(call, true, &program.session, &program.note, &err) < 0) {
        mcp_call_fail(call, &err);
        return;
    }
    buf_init(&note, 4 * KIB);
    program.is_new = id && strcmp(id, "new") == 0;
    if (program.session)
        add_greeting(call, &program, &note);
    mcp_run(call, &program);
}

/* --- the tools --- */

static void execute_python(struct mcp_call *call)
{
    mcp_run_cell(call, "code", RUN_PYTHON);
}

static void execute_bash(struct mcp_call *call)
{
    mcp_run_cell(call, "code", RUN_BASH);
}

/* clang-format off */
static const struct schema_field python_fields[] = {
    {"code", SCHEMA_STRING, .is_required = true, .max_len = LIMIT_CODE_BYTES,
     .help = "Python source", .example = "\"print(1 + 1)\""},
    {"session_id", SCHEMA_STRING, .max_len = 64, .example = "\"new\"",
     .help = "of an earlier result, or \"new\"; default: the connection's own"},
    API_TIMEOUT_FIELD,
    MCP_WAIT_FIELD,
    {"net", SCHEMA_STRINGS, .max_len = LIMIT_NET_GRANTS, .example = "[\"api.example.org\"]",
     .help = "granted hosts to reach, when a session is opened"},
    {0},
};

static const struct schema_field bash_fields[] = {
    {"code", SCHEMA_STRING, .is_required = true, .max_len = LIMIT_CODE_BYTES,
     .help = "shell commands", .example = "\"ls -l\""},
    {"session_id", SCHEMA_STRING, .max_len = 64, .example = "\"new\"",
     .help = "a session"},
    API_TIMEOUT_FIELD,
    {"wait_s", SCHEMA_NUMBER, .min = 0, .max = MCP_WAIT_MAX, .example = "10",
     .help = "answer by then"},
    {"net", SCHEMA_STRINGS, .max_len = LIMIT_NET_GRANTS, .example = "[\"api.example.org\"]",
     .help = "hosts to reach"},
    {0},
};

/* Only what is always there is promised. */
#define RUN_OUTPUT                                                                                 \
    "{\"type\":\"object\",\"properties\":{"                                                        \
    "\"status\":{\"type\":\"string\",\"enum\":[\"success\",\"error\",\"timeout\","                 \
    "\"memory_exceeded\",\"refused\",\"cancelled\",\"running\"]},"                               \
    "\"exit_code\":{\"type\":\"integer\"},\"stdout\":{\"type\":\"string\"},"                       \
    "\"stderr\":{\"type\":\"string\"},\"result\":{\"type\":\"object\"},"                           \
    "\"error\":{\"type\":\"object\"},\"violations\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}}," \
    "\"files\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},"                              \
    "\"output_handle\":{\"type\":\"string\"},\"session_id\":{\"type\":\"string\"}},"               \
    "\"required\":[\"status\"]}"

const struct mcp_tool mcp_tool_python = {
    .name = "execute_python_code",
    .title = "Run Python",
    .description =
        "Run Python in a sandbox. Variables, imports and /workspace stay for later calls. "
        "numpy, pandas, scipy, sklearn, matplotlib, sympy, networkx are loaded. "
        "Plots come back as images, the last expression or a variable `result` as the result. A "
        "timeout keeps the session.",
    .input = python_fields,
    .output_json = RUN_OUTPUT,
    .call = execute_python,
    .may_be_task = true,
};

const struct mcp_tool mcp_tool_bash = {
    .name = "execute_bash_code",
    .title = "Run Bash",
    .description = "Run shell commands in the session of execute_python_code. Directory, variables "
                   "and functions stay.",
    .input = bash_fields,
    .output_json = RUN_OUTPUT,
    .call = execute_bash,
    .may_be_task = true,
};
/* clang-format on */
