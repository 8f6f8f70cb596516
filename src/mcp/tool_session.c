/* Sessions: which one a call means, and the tools that look at, stop, restart and copy them. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "base/language.h"
#include "engine/place.h"
#include "mcp/tools.h"

struct mcp_host *mcp_host_of(const struct mcp_call *call)
{
    return mcp_server_user(call->server);
}

/* --- opening --- */

/* Tools that do not list it refuse it by name; some of other systems take what comes. */
static const json_t *asked_net(const struct mcp_call *call)
{
    const json_t *net = json_object_get(call->arguments, "net"), *item;
    size_t i;

    if (!json_is_array(net))
        return NULL;
    json_array_foreach(net, i, item)
    {
        if (!json_is_string(item))
            return NULL;
    }
    return net;
}

int mcp_ask_net(const struct mcp_call *call, struct run_request *asked, struct error *err)
{
    const json_t *net = asked_net(call), *item;
    size_t i;

    asked->has_net = net != NULL;
    json_array_foreach(net, i, item)
    {
        if (run_request_add(&asked->net, json_string_value(item), err) < 0)
            return -1;
    }
    return 0;
}

struct admission mcp_admission(const struct mcp_call *call)
{
    const struct mcp_host *host = mcp_host_of(call);
    struct admission admission = api_admission(host->api, call->caller);

    admission.granted = host->granted;
    admission.keeper = mcp_store_owner(call);
    return admission;
}

/* The peer's own, by its id: it may have ended since. */
struct own {
    char id[ID_SIZE];
};

static int open_session(struct mcp_call *call, bool is_own, struct session **ret_session,
                        struct error *err)
{
    const struct own *own = call->peer ? mcp_peer_user(call->peer) : NULL;
    const struct mcp_host *host = mcp_host_of(call);
    const struct config *config = host->api->config;
    const struct admission admission = mcp_admission(call);
    cleanup(run_request_done) struct run_request asked = {0};
    struct session_options options = {
        .owner = call->owner,
        .evicts = admission_evicts(config, true),
        .spares = own ? own->id : NULL,
        .idle_ms = (uint64_t)(config->session_idle_s * 1000),
        .lifetime_ms = (uint64_t)(config->session_lifetime_s * 1000),
    };

    if (is_own && host->is_pipe)
        options.idle_ms = options.lifetime_ms = 0; /* it ends with the pipe */
    if (mcp_ask_net(call, &asked, err) < 0)
        return -1;
    return admit_session(&admission, &asked, host->api->sessions, &options, ret_session, err);
}

/* The settings with which a session was opened stay. */
static int refuse_net(const struct mcp_call *call, struct error *err)
{
    if (json_array_size(asked_net(call)) == 0)
        return 0;
    error_set(err, E_INVALID, "`net`: the hosts of a session are chosen when it is opened");
    return error_hint(err, "session_id \"new\" opens one with these");
}

static int own_session(struct mcp_call *call, bool opens, struct session **ret_session,
                       const char **ret_note, struct error *err)
{
    struct own *own = mcp_peer_user(call->peer);
    struct session_info info;

    *ret_session = NULL;
    if (!own) {
        own = calloc(1, sizeof(*own));
        if (!own)
            return error_memory(err);
        mcp_peer_set_user(call->peer, own);
    }
    if (*own->id)
        *ret_session = sessions_find(mcp_host_of(call)->api->sessions, call->owner, own->id, NULL);
    if (*ret_session &&
        (admission_check_session(call->caller, *ret_session, err) < 0 || refuse_net(call, err) < 0))
        return -1;
    if (*ret_session || !opens)
        return 0;
    if (*own->id)
        *ret_note = "the session of this connection has ended; this is a new one, without the "
                    "variables and files of the earlier one";
    if (open_session(call, true, ret_session, err) < 0)
        return -1;
    session_info(*ret_session, &info);
    (void)snprintf(own->id, sizeof(own->id), "%s", info.id);
    return 0;
}

void mcp_session_end(struct mcp_peer *peer)
{
    struct own *own = mcp_peer_user(peer);
    const struct mcp_host *host = mcp_server_user(mcp_peer_server(peer));
    struct session *session = NULL;

    if (own && *own->id)
        session = sessions_find(host->api->sessions, mcp_peer_owner(peer), own->id, NULL);
    if (session)
        session_close(session, "its connection was closed");
    free(own);
}

void mcp_evicted_note(const char *evicted, struct buf *out)
{
    bool are_several;

    if (!evicted)
        return;
    are_several = strchr(evicted, ' ') != NULL;
    (void)buf_printf(out, NULL,
                     "%s %s ended to make room, idle the longest: %s variables and files are gone. "
                     "keep_session keeps one; end_session ends those you no longer need. ",
                     are_several ? "Sessions" : "Session", evicted, are_several ? "their" : "its");
}

/* --- which one --- */

static struct session *find_session(struct mcp_call *call, const char *id, struct error *err)
{
    struct session *session =
        sessions_find(mcp_host_of(call)->api->sessions, call->owner, id, NULL);

    if (session && admission_check_session(call->caller, session, err) < 0)
        return NULL;
    if (!session) {
        error_set(err, E_NOT_FOUND,
                  "there is no session with that `session_id`; it may have ended");
        error_hint(err, "idle sessions end after a while; %s with session_id \"new\" opens one",
                   mcp_runner(call));
    }
    return session;
}

int mcp_session_pick(struct mcp_call *call, bool opens, struct session **ret_session,
                     const char **ret_note, struct error *err)
{
    const char *id = json_string_value(json_object_get(call->arguments, "session_id"));

    *ret_session = NULL;
    if (id && strcmp(id, "new") == 0 && opens) {
        *ret_note = "a new session: pass its session_id to continue in it";
        return open_session(call, false, ret_session, err);
    }
    if (id) {
        *ret_session = find_session(call, id, err);
        return *ret_session ? refuse_net(call, err) : -1;
    }
    if (call->era == MCP_MODERN || !call->peer)
        return 0;
    return own_session(call, opens, ret_session, ret_note, err);
}

struct session *mcp_session_need(struct mcp_call *call, struct error *err)
{
    struct session *session = NULL;
    const char *note;

    if (mcp_session_pick(call, true, &session, &note, err) < 0)
        return NULL;
    if (!session) {
        error_set(err, E_INVALID, "the field `session_id` is missing");
        error_hint(err, "%s with session_id \"new\" opens a session and says its id",
                   mcp_runner(call));
    }
    return session;
}

/* --- status --- */

static const char *const state_words[] = {[SESSION_STARTING] = "starting",
                                          [SESSION_IDLE] = "idle",
                                          [SESSION_BUSY] = "running code",
                                          [SESSION_PAUSED] = "paused"};

static void answer_session(struct mcp_call *call, struct session *session, const char *said,
                           bool has_place)
{
    cleanup(buf_done) struct buf text = BUF_OF(64 * KIB);
    struct session_info info;
    json_t *result;

    session_info(session, &info);
    (void)buf_printf(&text, NULL, "%ssession %s: %s, %llu call(s) done, %zu waiting; profile %s",
                     said, info.id, state_words[info.state], (unsigned long long)info.cells,
                     info.waiting, info.profile);
    if (info.idle_limit_ms)
        (void)buf_printf(&text, NULL, "; ends after %llu s of rest",
                         (unsigned long long)(info.idle_limit_ms / 1000));
    if (has_place) {
        (void)buf_add_str(&text, "\n", NULL);
        mcp_place_add(call, session, &text);
    }
    result = mcp_text_result(buf_str(&text), text.len, false);
    if (mcp_result_has_links(call))
        (void)json_object_set_new(result, "structuredContent", api_session_json(session));
    mcp_call_answer(call, result);
}

static void answer_no_session(struct mcp_call *call)
{
    cleanup(buf_done) struct buf text = BUF_OF(64 * KIB);

    (void)buf_printf(&text, NULL, "there is no session yet: the first call of %s opens one\n",
                     mcp_runner(call));
    mcp_place_add(call, NULL, &text);
    mcp_call_answer(call, mcp_text_result(buf_str(&text), text.len, false));
}

static void show_status(struct mcp_call *call)
{
    struct session *session = NULL;
    const char *note = NULL;
    struct error err = {0};

    if (mcp_session_pick(call, false, &session, &note, &err) < 0)
        mcp_call_fail(call, &err);
    else if (session)
        answer_session(call, session, "", true);
    else
        answer_no_session(call);
}

/* One run, wherever it runs. Its result goes to whoever waits for it. */
static void interrupt_run(struct mcp_call *call, const char *run_id)
{
    struct error err = {0};
    struct job *job = jobs_find(mcp_host_of(call)->api->jobs, call->owner, run_id, &err);
    bool runs = job && job_run(job);

    if (!job) {
        mcp_call_fail(call, &err);
        return;
    }
    job_cancel(job);
    mcp_call_answer_text(call, runs ? "interrupted" : "the run has ended already", false);
}

static void interrupt(struct mcp_call *call)
{
    const char *run_id = json_string_value(json_object_get(call->arguments, "run_id"));
    struct error err = {0};
    struct session *session;

    if (run_id) {
        interrupt_run(call, run_id);
        return;
    }
    session = mcp_session_need(call, &err);
    if (!session)
        mcp_call_fail(call, &err);
    else
        mcp_call_answer_text(call,
                             session_interrupt(session) ? "interrupted; variables and files stay"
                                                        : "nothing was running",
                             false);
}

static void restart(struct mcp_call *call)
{
    enum run_language language = language_of_json(call->arguments);
    struct error err = {0};
    struct session *session = mcp_session_need(call, &err);
    char text[128];

    if (!session || session_restart(session, language, &err) < 0) {
        mcp_call_fail(call, &err);
        return;
    }
    (void)snprintf(text, sizeof(text), "%s was restarted: its variables are lost, files stay; ",
                   languages[languages[language].kernel].name);
    answer_session(call, session, text, false);
}

/* --- copies --- */

/* The copy is made whether somebody waits for it or not. */
struct copying {
    struct mcp_call *call; /* NULL: it was cancelled */
};

static void on_copy_cancel(struct mcp_call *call)
{
    struct copying *copying = call->user;

    copying->call = NULL;
}

static void add_shared(const struct mcp_call *call, const struct session_copied *copied,
                       struct buf *out)
{
    struct session_info info;
    size_t len = 0;
    cleanup(buf_done) struct buf said = BUF_OF(64 * KIB);
    cleanup_free char *masked = NULL;

    session_info(copied->source, &info);
    if (place_add_forks(info.terms, &said) < 0 || !said.len)
        return;
    masked = mcp_mask(mcp_host_of(call), buf_str(&said), said.len, &len);
    if (masked)
        (void)buf_printf(out, NULL, "\n%s", masked);
    for (size_t i = 0; i < info.terms->n_grants; i++)
        if (info.terms->grants[i].mode != RUN_GRANT_RO) {
            (void)buf_add_str(out, "\nLook, then apply: ", NULL);
            (void)mcp_add_way(call, mcp_tool_changes.name,
                              "\"session_id\": \"ID\", \"action\": \"show\" or \"apply\"", out);
            return;
        }
}

static void answer_copies(struct mcp_call *call, const struct session_copied *copied)
{
    cleanup(buf_done) struct buf text = BUF_OF(64 * KIB);
    json_t *ids = json_array(), *result;

    (void)buf_printf(&text, NULL, "%zu %s of the session, each with its own variables and files:",
                     copied->n_sessions, copied->n_sessions == 1 ? "copy" : "copies");
    for (size_t i = 0; i < copied->n_sessions; i++) {
        struct session_info info;

        session_info(copied->sessions[i], &info);
        (void)buf_printf(&text, NULL, " %s", info.id);
        (void)json_array_append_new(ids, json_string(info.id));
    }
    if (copied->lost)
        (void)buf_printf(&text, NULL, "; %s are not in them", copied->lost);
    add_shared(call, copied, &text);
    if (copied->evicted)
        (void)buf_add_str(&text, "\n", NULL);
    mcp_evicted_note(copied->evicted, &text);
    result = mcp_text_result(buf_str(&text), text.len, false);
    if (mcp_result_has_links(call))
        (void)json_object_set_new(result, "structuredContent",
                                  json_pack("{s:O}", "session_ids", ids));
    json_decref(ids);
    mcp_call_answer(call, result);
}

static void on_copied(void *user, const struct session_copied *copied)
{
    struct copying *copying = user;
    struct mcp_call *call = copying->call;
    struct error err = {0};

    free(copying);
    if (!call)
        return;
    if (copied->err->code == E_NONE) {
        answer_copies(call, copied);
        return;
    }
    error_copy(&err, copied->err);
    mcp_call_fail(call, &err);
}

static void fork_session(struct mcp_call *call)
{
    const json_t *n = json_object_get(call->arguments, "n");
    struct copying *copying = calloc(1, sizeof(*copying));
    const struct own *own = call->peer ? mcp_peer_user(call->peer) : NULL;
    struct session_options options = {
        .max_own = admission_max_sessions(call->caller),
        .evicts = admission_evicts(mcp_host_of(call)->api->config, true),
        .spares = own ? own->id : NULL,
    };
    struct session_info info;
    struct error err = {0};
    struct session *session = mcp_session_need(call, &err);

    if (session && copying) {
        session_info(session, &info);
        options.idle_ms = info.idle_limit_ms;
        options.lifetime_ms = info.lifetime_ms;
        copying->call = call;
        call->user = copying;
        call->on_cancel = on_copy_cancel;
        if (session_fork(session, n ? (size_t)json_integer_value(n) : 1, &options, on_copied,
                         copying, &err) == 0)
            return;
    }
    if (err.code == E_NONE)
        error_memory(&err);
    free(copying);
    call->on_cancel = NULL;
    mcp_call_fail(call, &err);
}

/* --- all of them --- */

static void add_session(const struct mcp_call *call, struct session *session, struct buf *out)
{
    const struct own *own = call->peer ? mcp_peer_user(call->peer) : NULL;
    struct session_info info;

    session_info(session, &info);
    (void)buf_printf(out, NULL, "%s: %s, %llu call(s) done, %llu s old%s%s%s%s\n", info.id,
                     state_words[info.state], (unsigned long long)info.cells,
                     (unsigned long long)(info.age_ms / 1000), info.parent ? ", fork of " : "",
                     info.parent ? info.parent : "", info.is_kept ? ", kept" : "",
                     own && strcmp(own->id, info.id) == 0 ? ", this connection's" : "");
}

static void list_open(struct mcp_call *call)
{
    struct sessions *sessions = mcp_host_of(call)->api->sessions;
    cleanup(buf_done) struct buf text = BUF_OF(MIB);
    json_t *list = json_array(), *result;

    for (struct session *s = sessions_next(sessions, NULL); s; s = sessions_next(sessions, s)) {
        struct session_info info;

        session_info(s, &info); /* one that is ending is still there and not found any more */
        if (sessions_find(sessions, call->owner, info.id, NULL) != s)
            continue;
        add_session(call, s, &text);
        (void)json_array_append_new(list, api_session_json(s));
    }
    if (!text.len)
        (void)buf_add_str(&text, "no session is open\n", NULL);
    result = mcp_text_result(buf_str(&text), text.len, false);
    if (mcp_result_has_links(call))
        (void)json_object_set_new(result, "structuredContent",
                                  json_pack("{s:O}", "sessions", list));
    json_decref(list);
    mcp_call_answer(call, result);
}

static void end_session(struct mcp_call *call)
{
    const char *id = json_string_value(json_object_get(call->arguments, "session_id"));
    struct error err = {0};
    struct session *session = find_session(call, id, &err);
    struct session_info info;
    char said[192];

    if (!session) {
        mcp_call_fail(call, &err);
        return;
    }
    session_info(session, &info);
    (void)snprintf(said, sizeof(said),
                   "session %s has ended; its variables and /workspace are gone%s", info.id,
                   place_end_note(info.terms));
    session_close(session, "it was ended by its owner");
    mcp_server_changed_for(call->server, call->owner, MCP_RESOURCES);
    mcp_call_answer_text(call, said, false);
}

static void keep_session(struct mcp_call *call)
{
    const char *id = json_string_value(json_object_get(call->arguments, "session_id"));
    const json_t *keep = json_object_get(call->arguments, "keep");
    bool is_kept = !keep || json_is_true(keep);
    struct error err = {0};
    struct session *session = find_session(call, id, &err);
    struct session_info info;
    char said[192];

    if (!session || session_keep(session, is_kept, &err) < 0) {
        mcp_call_fail(call, &err);
        return;
    }
    session_info(session, &info);
    (void)snprintf(said, sizeof(said),
                   is_kept ? "session %s does not end to make room for another one"
                           : "session %s may end to make room for another one",
                   info.id);
    mcp_call_answer_text(call, said, false);
}

/* clang-format off */
static const struct schema_field no_fields[] = {
    {0},
};

static const struct schema_field end_fields[] = {
    {"session_id", SCHEMA_STRING, .is_required = true, .max_len = 64, .example = "\"ses_…\""},
    {0},
};

static const struct schema_field keep_fields[] = {
    {"session_id", SCHEMA_STRING, .is_required = true, .max_len = 64, .example = "\"ses_…\""},
    {"keep", SCHEMA_BOOLEAN, .example = "true", .help = "default true"},
    {0},
};

static const struct schema_field session_fields[] = {
    MCP_SESSION_FIELD,
    {0},
};

static const struct schema_field interrupt_fields[] = {
    MCP_SESSION_FIELD,
    {"run_id", SCHEMA_STRING, .max_len = 64, .example = "\"run_…\"", .help = "only this run"},
    {0},
};

static const struct schema_field restart_fields[] = {
    API_LANGUAGE_FIELD,
    MCP_SESSION_FIELD,
    {0},
};

static const struct schema_field fork_fields[] = {
    {"n", SCHEMA_INTEGER, .min = 1, .max = 64, .example = "2", .help = "copies (default 1)"},
    MCP_SESSION_FIELD,
    {0},
};

const struct mcp_tool mcp_tool_status = {
    .name = "get_kernel_status",
    .title = "Kernel status",
    .description = "The session's state, and where its code runs.",
    .input = session_fields,
    .hints = MCP_READ_ONLY,
    .call = show_status,
};

const struct mcp_tool mcp_tool_interrupt = {
    .name = "interrupt",
    .title = "Interrupt",
    .description = "Stop running code, as Ctrl-C does. Variables stay.",
    .input = interrupt_fields,
    .hints = MCP_IDEMPOTENT,
    .call = interrupt,
};

const struct mcp_tool mcp_tool_restart = {
    .name = "restart_kernel",
    .title = "Restart a kernel",
    .description = "Restart a kernel: its variables are lost, files stay.",
    .input = restart_fields,
    .hints = MCP_DESTRUCTIVE | MCP_IDEMPOTENT,
    .call = restart,
};

const struct mcp_tool mcp_tool_fork = {
    .name = "fork_session",
    .title = "Fork a session",
    .description = "Copy the session, with variables and files, n times.",
    .input = fork_fields,
    .call = fork_session,
};

const struct mcp_tool mcp_tool_open_sessions = {
    .name = "list_open_sessions",
    .title = "List open sessions",
    .description = "Open sessions and copies.",
    .input = no_fields,
    .hints = MCP_READ_ONLY,
    .call = list_open,
};

const struct mcp_tool mcp_tool_end = {
    .name = "end_session",
    .title = "End a session",
    .description = "End a session or copy.",
    .input = end_fields,
    .hints = MCP_DESTRUCTIVE | MCP_IDEMPOTENT,
    .call = end_session,
};

const struct mcp_tool mcp_tool_keep = {
    .name = "keep_session",
    .title = "Keep a session",
    .description = "At the session limit, do not end this session to make room for a new one.",
    .input = keep_fields,
    .hints = MCP_IDEMPOTENT,
    .call = keep_session,
};
/* clang-format on */
