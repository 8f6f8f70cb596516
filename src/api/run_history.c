#include "api/run_history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/rights.h"
#include "api/trail_reader.h"
#include "audit/record.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"

/* Records of one run in an answer. */
#define RECORD_COUNT 1000

/* --- a row of the trail, in the worker --- */

static json_t *member(const json_t *object, const char *name, const char *part)
{
    json_t *value = json_object_get(json_object_get(object, name), part);

    return value ? json_incref(value) : json_null();
}

static json_t *copy(const json_t *object, const char *name)
{
    json_t *value = json_object_get(object, name);

    return value ? json_incref(value) : json_null();
}

/* When the run of the record began, or null. */
static json_t *time_of(const struct buf *start)
{
    struct record_head head;

    return start && record_read(buf_str(start), start->len, &head) ? json_string(head.mark.time)
                                                                   : json_null();
}

static void add_end(json_t *row, const json_t *record)
{
    const json_t *violations = json_object_get(record, "violations");

    json_set(row, "exit_code", copy(record, "exit_code"));
    json_set(row, "wall_ms", member(record, "usage", "wall_ms"));
    json_set(row, "cpu_ms", member(record, "usage", "cpu_ms"));
    json_set(row, "memory_peak_bytes", member(record, "usage", "memory_peak_bytes"));
    json_set(row, "masked", member(record, "masked", "count"));
    json_set(row, "violations",
             json_integer((json_int_t)json_array_size(violations) +
                          json_integer_value(json_object_get(record, "violations_more"))));
}

static int add_run(void *user, const struct index_row *row, const struct buf *line,
                   const struct buf *start, struct error *err)
{
    cleanup_json json_t *record = record_load(line->data, line->len);
    bool has_ended = strcmp(row->kind, "run") == 0;
    json_t *out;

    if (!record)
        return 0; /* `belljar audit verify` reports it */
    out = json_pack(
        "{s:I, s:o, s:o, s:O?, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:n, s:n}", "seq",
        (json_int_t)row->seq, "id", json_string_or_null(row->id), "state",
        json_string_or_null(row->status), "language", json_object_get(record, "language"), "owner",
        json_string_or_null(row->owner), "session_id", json_string_or_null(row->session), "profile",
        json_string_or_null(row->profile), "code", json_string(row->summary ? row->summary : ""),
        "detached", 0, "started_at", has_ended ? time_of(start) : json_string_or_null(row->time),
        "ended_at", has_ended ? json_string_or_null(row->time) : json_null(), "exit_code", "age_s");
    if (out && has_ended)
        add_end(out, record);
    return json_array_insert_new(user, 0, out) < 0 ? error_memory(err) : 0;
}

static int work_list(const void *arg, json_t **ret_answer, struct error *err)
{
    return trail_list(arg, add_run, "runs", ret_answer, err);
}

/* --- the list, in the server --- */

static size_t limit_of(const struct request *request)
{
    const json_t *limit = json_object_get(request->query, "limit");

    return limit ? (size_t)json_integer_value(limit) : TRAIL_LIST_DEFAULT;
}

/* A run that has ended meanwhile is in both. */
static void append_ended(json_t *live, const json_t *ended)
{
    cleanup_json json_t *known = json_object();
    json_t *row;
    size_t i;

    json_array_foreach(ended, i, row)
    {
        (void)json_object_set(known, json_get_text(row, "id"), row);
    }
    for (i = json_array_size(live); i > 0; i--)
        if (json_object_get(known, json_get_text(json_array_get(live, i - 1), "id")))
            (void)json_array_remove(live, i - 1);
    (void)json_array_extend(live, (json_t *)ended);
}

/* `user`: those that were live when it was asked. */
static void answer_list(struct request *request, void *user, json_t *answer)
{
    const struct api *api = request->api;
    json_t *ended = json_object_get(answer, "runs"), *live = user;

    jobs_mark_kept(api->jobs, ended);
    append_ended(live, ended);
    request_answer_json(request, 200,
                        json_pack("{s:O, s:O, s:O}", "runs", live, "next",
                                  json_object_get(answer, "next"), "newest",
                                  json_object_get(answer, "newest")));
}

static void free_list(void *user)
{
    json_decref(user);
}

static bool is_live_state(const char *state)
{
    return strcmp(state, "waiting") == 0 || strcmp(state, "running") == 0;
}

/* Those that wait or run are on the first page, and have no time of their end. */
static json_t *list_live(const struct request *request, const struct trail_wish *wish)
{
    const struct index_filter *filter = &wish->filter;
    const struct api *api = request->api;
    const struct job_filter live = {
        .session = filter->session,
        .state = filter->status,
        .language = filter->language,
        .text = filter->text,
        .is_live = true,
    };

    if (filter->before || filter->after || filter->until ||
        (filter->status && !is_live_state(filter->status)))
        return json_array();
    return jobs_list(api->jobs, filter->owner, &live, filter->limit);
}

/* A session is named by its id, or by its name while it lives. */
static const char *session_id(const struct request *request, const char *name)
{
    const struct api *api = request->api;
    struct session *session =
        name ? sessions_find(api->sessions, request->owner, name, NULL) : NULL;
    struct session_info info;

    if (!session)
        return name;
    session_info(session, &info);
    return info.id;
}

/* The whole list is in memory: there is no trail, or nothing that has ended is asked for. */
static void answer_live(struct request *request, json_t *live)
{
    request_answer_json(request, 200, json_pack("{s:o, s:n, s:n}", "runs", live, "next", "newest"));
}

static int read_wish(struct request *request, struct trail_wish *wish, struct error *err)
{
    struct index_filter *filter = &wish->filter;

    if (trail_wish_read(request, wish, err) < 0 || trail_wish_restrict(request, wish, err) < 0)
        return -1;
    filter->is_of_runs = true;
    filter->looks = TRAIL_LOOKS_MAX;
    filter->session = session_id(request, filter->session);
    filter->status = request_query(request, "status");
    filter->language = request_query(request, "language");
    return 0;
}

static void list_history(struct request *request)
{
    const struct worker_task task = {.work = work_list,
                                     .patience_ms = TRAIL_FIND_MS,
                                     .name = "the search",
                                     .late_hint = "ask for a shorter time with `since`"};
    const struct api *api = request->api;
    cleanup(trail_wish_done) struct trail_wish wish = {0};
    struct trail_listener listener = {.on_answer = answer_list, .free = free_list};
    struct worker_task own = task;
    struct error err = {0};
    const char *state = request_query(request, "state");
    json_t *live;

    if (read_wish(request, &wish, &err) < 0) {
        api_refuse(request, "runs", &err);
        return;
    }
    live = list_live(request, &wish);
    if (!api->recorder || (state && strcmp(state, "live") == 0) ||
        (wish.filter.status && is_live_state(wish.filter.status))) {
        answer_live(request, live);
        return;
    }
    own.arg = &wish;
    listener.user = live;
    if (trail_wish_open(api, &wish, &err) < 0) {
        json_decref(live);
        request_answer_error(request, &err);
    } else if (trail_read(request, &own, &listener, &err) < 0) {
        request_answer_error(request, &err);
    }
}

/* Parameters that need the trail. */
static int check_memory(const struct request *request, struct error *err)
{
    static const char *const those[] = {"status", "text", "since", "until", "before", "after"};

    for (size_t i = 0; i < ARRAY_SIZE(those); i++)
        if (json_object_get(request->query, those[i])) {
            error_set(err, E_INVALID, "`%s` needs `history=true`", those[i]);
            return error_hint(err, "without it, the list has only what waits, runs or is kept");
        }
    return 0;
}

static int find_session(const struct request *request, struct job_filter *filter, struct error *err)
{
    const struct api *api = request->api;
    const char *name = request_query(request, "session");
    struct session *session;
    struct session_info info;

    if (!name)
        return 0;
    session = sessions_find(api->sessions, request->owner, name, err);
    if (!session)
        return -1;
    session_info(session, &info);
    filter->session = info.id;
    return 0;
}

static void list_memory(struct request *request)
{
    const struct api *api = request->api;
    const char *state = request_query(request, "state");
    cleanup(trail_wish_done) struct trail_wish wish = {.filter.owner =
                                                           request_query(request, "owner")};
    struct job_filter filter = {.is_live = state && strcmp(state, "live") == 0,
                                .language = request_query(request, "language")};
    struct error err = {0};

    if (check_memory(request, &err) < 0 || trail_wish_restrict(request, &wish, &err) < 0 ||
        find_session(request, &filter, &err) < 0) {
        api_refuse(request, "runs", &err);
        return;
    }
    answer_live(request, jobs_list(api->jobs, wish.filter.owner, &filter, limit_of(request)));
}

void run_history_list(struct request *request)
{
    if (json_is_true(json_object_get(request->query, "history")))
        list_history(request);
    else
        list_memory(request);
}

/* --- one run, in the worker --- */

struct record_wish {
    struct trail_wish trail;
    const char *id;
};

struct showing {
    struct index *index;
    json_t *answer;
    size_t bytes;
    uint64_t seq;  /* of its end, or its beginning */
    bool has_ends; /* these are there, and the rest follows */
};

static const char *list_of(const char *kind)
{
    static const char *const lists[][2] = {
        {"call", "calls"}, {"net", "net"}, {"input", "inputs"}, {"undo", "undo"}};

    for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
        if (strcmp(kind, lists[i][0]) == 0)
            return lists[i][1];
    return NULL;
}

static int add_record(void *user, const struct index_row *row, const struct buf *line,
                      const struct buf *start, struct error *err)
{
    struct showing *showing = user;
    const char *list = list_of(row->kind);
    const char *name = strcmp(row->kind, "start") == 0 ? "start"
                       : strcmp(row->kind, "run") == 0 ? "end"
                                                       : NULL;
    json_t *object;

    (void)start;
    showing->bytes += line->len;
    if (showing->has_ends ? !list : !name)
        return 0;
    if (list && showing->bytes > TRAIL_SHOWN_BYTES) {
        json_set(showing->answer, "has_more", json_true());
        return 0;
    }
    object = index_load(showing->index, line);
    if (!object)
        return error_set(err, E_INVALID, "a record cannot be read");
    if (name) {
        showing->seq = row->seq;
        json_set(showing->answer, name, object);
        json_set(showing->answer, "owner", json_string_or_null(row->owner));
        return 0;
    }
    return json_array_append_new(json_object_get(showing->answer, list), object) < 0
               ? error_memory(err)
               : 0;
}

static json_t *code_json(const json_t *start)
{
    const json_t *code = json_object_get(start, "code");

    if (!code)
        return json_null();
    return json_pack("{s:o, s:o, s:o, s:I, s:I}", "text", copy(code, "text"), "bytes",
                     copy(code, "bytes"), "sha256", copy(code, "sha256"), "masked",
                     json_integer_value(json_object_get(code, "masked")), "hidden_bytes",
                     json_integer_value(json_object_get(code, "hidden_bytes")));
}

static int add_neighbours(struct showing *showing, const struct trail_wish *wish, struct error *err)
{
    const char *owner = wish->is_of_all ? NULL : json_get_text(showing->answer, "owner");
    char id[64];

    if (index_neighbour(showing->index, showing->seq, false, owner, wish->filter.since, id, err) <
        0)
        return -1;
    json_set(showing->answer, "previous", *id ? json_string(id) : json_null());
    if (index_neighbour(showing->index, showing->seq, true, owner, NULL, id, err) < 0)
        return -1;
    json_set(showing->answer, "next", *id ? json_string(id) : json_null());
    return 0;
}

static int finish_record(struct showing *showing, const struct record_wish *wish, struct error *err)
{
    const json_t *start = json_object_get(showing->answer, "start");
    const json_t *end = json_object_get(showing->answer, "end");

    if (!showing->seq) {
        error_set(err, E_NOT_FOUND, "the audit trail has no run with that id");
        return error_hint(err, "an ordinary token finds its own runs only");
    }
    json_set(showing->answer, "id", json_string(wish->id));
    json_set(showing->answer, "state",
             json_is_object(end) ? copy(end, "status") : json_string("unfinished"));
    json_set(showing->answer, "code", code_json(start));
    return add_neighbours(showing, &wish->trail, err);
}

/* A program may have made more calls than one answer holds. */
static int find_records(struct showing *showing, const struct record_wish *wish, struct error *err)
{
    struct index_filter filter = wish->trail.filter;
    struct index_page page = {0};

    filter.is_of_runs = true;
    if (index_find_page(showing->index, &filter, add_record, showing, &page, err) < 0)
        return -1;
    filter.is_of_runs = false;
    showing->has_ends = true;
    if (index_find_page(showing->index, &filter, add_record, showing, &page, err) < 0)
        return -1;
    if (page.next)
        json_set(showing->answer, "has_more", json_true());
    return finish_record(showing, wish, err);
}

static int work_record(const void *arg, json_t **ret_answer, struct error *err)
{
    const struct record_wish *wish = arg;
    struct showing showing = {0};
    int r;

    if (index_open(wish->trail.dir, &showing.index, err) < 0)
        return -1;
    showing.answer = json_pack("{s:n, s:n, s:[], s:[], s:[], s:[], s:b}", "start", "end", "calls",
                               "net", "inputs", "undo", "has_more", 0);
    r = find_records(&showing, wish, err);
    index_close(showing.index);
    if (r == 0)
        *ret_answer = showing.answer;
    else
        json_decref(showing.answer);
    return r;
}

void run_history_record(struct request *request)
{
    const struct api *api = request->api;
    struct record_wish wish = {.id = request->params[0]};
    struct worker_task task = {.work = work_record,
                               .arg = &wish,
                               .patience_ms = TRAIL_FIND_MS,
                               .name = "the search",
                               .late_hint = "try again"};
    struct error err = {0};

    /* An operator sees every run, and `all` says only which neighbours it has. */
    if (trail_wish_open(api, &wish.trail, &err) < 0 ||
        trail_wish_restrict(request, &wish.trail, &err) < 0) {
        api_refuse(request, "runs", &err);
    } else {
        wish.trail.filter.run = request->params[0];
        wish.trail.filter.has_starts = true;
        wish.trail.filter.limit = RECORD_COUNT;
        if (request->caller->rights.is_operator)
            wish.trail.filter.owner = NULL;
        if (trail_read(request, &task, NULL, &err) < 0)
            request_answer_error(request, &err);
    }
    trail_wish_done(&wish.trail);
}

/* clang-format off */
const struct schema_field run_history_list_fields[] = {
    {"state", SCHEMA_STRING, .choices = "live,any", .help = "live: only those that wait or run"},
    {"session", SCHEMA_STRING, .max_len = 64, .help = "only cells of this session (name or id)"},
    {"limit", SCHEMA_INTEGER, .min = 1, .max = TRAIL_LIST_MAX, .help = "at most so many (default 100)"},
    {"history", SCHEMA_BOOLEAN, .help = "also runs of the audit trail, a page at a time"},
    API_ALL_FIELD,
    {"status", SCHEMA_STRING,
     .choices = "waiting,running,success,error,timeout,memory_exceeded,refused,cancelled,failed,unfinished",
     .help = "only runs with this status"},
    {"language", SCHEMA_STRING, .max_len = 32, .help = "only runs of this language"},
    TRAIL_LIST_FIELDS,
    {0},
};

const struct schema_field run_history_record_fields[] = {
    {"all", SCHEMA_BOOLEAN, .help = "`previous` and `next` are of all tokens; for operators"},
    {0},
};
/* clang-format on */
