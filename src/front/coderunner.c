/* The interface of CodeRunner: `/execute`, `/execute_async` with `/tasks/{id}`, `/sessions` and
 * `/languages`, for its clients as they are; the same below `/api`, where its own client asks.
 *
 * Its sessions were a promise: here each is a sandbox of its own, with variables and files that
 * stay. Code runs once, in the language that was asked for, for as long as was asked for. A request
 * that names no session opens one and answers with its id; of these only a few are kept.
 */
#include "front/coderunner.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/stream.h"
#include "front/api.h"
#include "front/compat.h"
#include "front/json.h"
#include "front/result.h"

#define PROFILE  "open"
#define TEXT_MAX (2 * LIMIT_OUTPUT_BYTES_MAX)

/* The session that `/v1/sessions/session` is about. */
#define USUAL_NAME "session"

/* Of the sessions that nobody asked for: how long one rests, and how many of an owner. */
#define LOOSE_IDLE_S 300
#define LOOSE_KEPT   4

/* One session that was opened here. */
struct place {
    struct coderunner *coderunner;
    struct place *before, *after;
    struct session *session;
    enum run_language language;
    bool is_loose; /* opened by the way */
};

struct coderunner {
    struct place *first;
};

static const struct schema_field execute_fields[] = {
    {"command",                              SCHEMA_STRING, .max_len = LIMIT_CODE_BYTES, .help = "what to run"},
    {"code",           SCHEMA_STRING, .max_len = LIMIT_CODE_BYTES, .help = "the same under another name"},
    {"language",                                      SCHEMA_STRING, .max_len = 32,
     .help = "python or bash; without it, that of the session"},
    {"timeout",               SCHEMA_INTEGER, .min = 1, .max = 86400, .help = "seconds; 30 without it"},
    {"session_id", SCHEMA_STRING, .max_len = 64,
     .help = "where to run it; without it in a session of its own"},
    {0                            },
};

static const struct schema_field session_query[] = {
    {"language",     SCHEMA_STRING, .max_len = 32, .help = "python unless it says bash"},
    {0},
};

/* --- languages --- */

static const struct {
    const char *name;
    enum run_language language;
    const char *aliases[3];
} languages[] = {
    {"python", RUN_PYTHON, {"py", "python3"}},
    {"bash",   RUN_BASH,   {"sh", "shell"}  },
};

static int find_language(const char *text, enum run_language *ret_language, struct error *err)
{
    char word[33];
    size_t skipped = strspn(text, " \t\r\n"), n = 0;

    for (text += skipped; *text && n < sizeof(word) - 1; text++)
        word[n++] = (char)tolower((unsigned char)*text);
    while (n && isspace((unsigned char)word[n - 1]))
        n--;
    word[n] = '\0';
    for (size_t i = 0; i < ARRAY_SIZE(languages); i++) {
        bool is_it = strcmp(word, languages[i].name) == 0;

        for (const char *const *a = languages[i].aliases; *a; a++)
            is_it = is_it || strcmp(word, *a) == 0;
        if (is_it) {
            *ret_language = languages[i].language;
            return 0;
        }
    }
    error_set(err, E_INVALID, "Unsupported language: %s", word);
    return error_hint(err, "/languages lists what there is");
}

static void show_languages(struct request *request)
{
    json_t *list = json_object();

    for (size_t i = 0; i < ARRAY_SIZE(languages); i++)
        (void)json_object_set_new(
            list, languages[i].name,
            json_pack("{s:[s, s]}", "aliases", languages[i].aliases[0], languages[i].aliases[1]));
    request_answer_json(request, 200,
                        json_pack("{s:o, s:s}", "languages", list, "default", "python"));
}

/* A notebook's ways to say that a cell is the shell's. */
static const char *skip_magic(const char *code, enum run_language *language)
{
    size_t n = strspn(code, " \t\r\n");

    if (strncmp(code + n, "%%bash", 6) == 0 && strchr("\r\n", code[n + 6])) {
        *language = RUN_BASH;
        return code + n + 6;
    }
    if (*language == RUN_PYTHON && code[n] == '!') {
        *language = RUN_BASH;
        return code + n + 1;
    }
    return code;
}

/* --- answers --- */

/* `detail` is where its clients look, `error` where ours do. */
static json_t *error_body(const struct error *err)
{
    json_t *body = result_error_json(err);
    const char *text = err->message ? err->message : "out of memory";

    (void)json_object_set_new(body, "detail", json_text_string(text, strlen(text)));
    return body;
}

static void answer_error(struct request *request, struct error *err)
{
    int status = error_code_http(err->code);
    json_t *body = error_body(err);

    error_done(err);
    request_answer_json(request, status, body);
}

static void answer_no_session(struct request *request, struct error *err)
{
    error_done(err);
    error_set(err, E_NOT_FOUND, "Session not found");
    answer_error(request, err);
}

static int result_body(const struct run *run, json_t **ret_body, struct error *err)
{
    cleanup(buf_done) struct buf output = {0}, errors = {0};

    buf_init(&output, TEXT_MAX);
    buf_init(&errors, TEXT_MAX);
    if (run_stream_render(&run->out, &output, err) < 0 || compat_stderr(run, &errors, err) < 0)
        return -1;
    *ret_body = json_pack(
        "{s:o, s:o, s:f, s:f, s:s?, s:s}", "stdout", json_text_string(buf_str(&output), output.len),
        "stderr", json_text_string(buf_str(&errors), errors.len), "execution_time",
        compat_seconds(run->usage.wall_ms), "cpu_time", compat_seconds(run->usage.cpu_ms),
        "session_id", *run->session ? run->session : NULL, "status", run_status_name(run->status));
    return *ret_body ? 0 : error_set(err, E_SYSTEM, "out of memory");
}

static int dump(json_t *body, struct buf *out, struct error *err)
{
    int r = json_text_dump(body, JSON_TEXT_COMPACT, out, err);

    json_decref(body);
    return r == 0 ? buf_add_str(out, "\n", err) : r;
}

static int write_result(const struct run *run, void *user, struct buf *out, int *ret_status,
                        struct error *err)
{
    json_t *body = NULL;

    (void)user;
    if (run->error.code != E_NONE) {
        *ret_status = error_code_http(run->error.code);
        return dump(error_body(&run->error), out, err);
    }
    return result_body(run, &body, err) < 0 ? -1 : dump(body, out, err);
}

static const struct job_form result_form = {.write = write_result};

/* --- tasks --- */

/* What a task's answer repeats of its request. */
struct task {
    char *command;
    const char *language;
    char session[32]; /* "": none */
    double created_at;
};

static double now_s(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)(now.tv_nsec / 1000000) / 1000;
}

static void free_task(void *user)
{
    struct task *task = user;

    if (task)
        free(task->command);
    free(task);
}

static struct task *new_task(const struct run *run, const struct session *session)
{
    struct task *task = calloc(1, sizeof(*task));
    struct session_info info;

    if (!task)
        return NULL;
    if (session) {
        session_info(session, &info);
        (void)snprintf(task->session, sizeof(task->session), "%s", info.id);
    }
    task->command = strdup(buf_str(&run->code));
    task->language = run->language == RUN_BASH ? "bash" : "python";
    task->created_at = now_s();
    if (!task->command) {
        free_task(task);
        return NULL;
    }
    return task;
}

/* `result` is taken over. */
static json_t *task_body(const struct task *task, const char *id, const char *status,
                         json_t *result, const char *error)
{
    return json_pack("{s:s, s:s, s:o, s:s, s:s?, s:f, s:o, s:o}", "id", id, "status", status,
                     "command", json_text_string(task->command, strlen(task->command)), "language",
                     task->language, "session_id", *task->session ? task->session : NULL,
                     "created_at", task->created_at, "result", result ? result : json_null(),
                     "error", error ? json_text_string(error, strlen(error)) : json_null());
}

/* A program that failed has completed; one that was stopped has not. */
static int write_task(const struct run *run, void *user, struct buf *out, int *ret_status,
                      struct error *err)
{
    bool is_failed = run->error.code != E_NONE || run->status > RUN_ERROR;
    const char *why = run->error.code != E_NONE ? run->error.message : NULL;
    json_t *result = NULL, *body;

    *ret_status = 200;
    if (run->error.code == E_NONE && result_body(run, &result, err) < 0)
        return -1;
    if (is_failed && !why)
        why = result ? run_status_name(run->status) : "out of memory";
    body = task_body(user, run->id, is_failed ? "failed" : "completed", result, why);
    if (!body)
        return error_set(err, E_SYSTEM, "out of memory");
    (void)json_object_set_new(body, "completed_at", json_real(now_s()));
    return dump(body, out, err);
}

static const struct job_form task_form = {
    .write = write_task, .free = free_task, .is_detached = true};

static void show_task(struct request *request)
{
    const struct api *api = request->api;
    struct error err = {0};
    struct job *job = jobs_find(api->jobs, request->owner, request->params[0], &err);
    const struct task *task = job ? job_form_user(job, &task_form) : NULL;

    if (!task) {
        error_done(&err);
        error_set(&err, E_NOT_FOUND, "Task not found");
        answer_error(request, &err);
    } else if (job_run(job)) {
        request_answer_json(request, 200,
                            task_body(task, job_id(job),
                                      job_run(job)->handed_ns ? "running" : "queued", NULL, NULL));
    } else {
        job_show(job, request);
    }
}

/* --- sessions --- */

static struct place *find_place(const struct coderunner *coderunner, const struct session *session)
{
    for (struct place *p = coderunner->first; p; p = p->after)
        if (p->session == session)
            return p;
    return NULL;
}

static void free_place(struct place *place)
{
    if (place->before)
        place->before->after = place->after;
    else
        place->coderunner->first = place->after;
    if (place->after)
        place->after->before = place->before;
    free(place);
}

static void on_session_end(void *user, struct session *session, const char *why)
{
    (void)session;
    (void)why;
    free_place(user);
}

static struct place *new_place(struct coderunner *coderunner, enum run_language language,
                               bool is_loose)
{
    struct place *place = calloc(1, sizeof(*place));

    if (!place)
        return NULL;
    *place = (struct place){coderunner, NULL, coderunner->first, NULL, language, is_loose};
    if (coderunner->first)
        coderunner->first->before = place;
    coderunner->first = place;
    return place;
}

/* At rest, of the owner, and opened by the way. */
static bool is_resting(const struct place *place, const char *owner, uint64_t *ret_idle_ms)
{
    struct session_info info;

    if (!place->is_loose || !place->session)
        return false;
    session_info(place->session, &info);
    *ret_idle_ms = info.idle_ms;
    return info.state == SESSION_IDLE && !info.waiting && strcmp(info.owner, owner) == 0;
}

/* For one more that nobody asked for: of those at rest, the ones that rest longest go. */
static void make_room(const struct coderunner *coderunner, const char *owner)
{
    for (;;) {
        struct place *longest = NULL;
        uint64_t longest_ms = 0, ms;
        size_t resting = 0;

        for (struct place *p = coderunner->first; p; p = p->after) {
            if (!is_resting(p, owner, &ms))
                continue;
            resting++;
            if (!longest || ms >= longest_ms) {
                longest = p;
                longest_ms = ms;
            }
        }
        if (resting < LOOSE_KEPT)
            return;
        longest->is_loose = false; /* it is gone in a while */
        session_close(longest->session, "others were opened since");
    }
}

static uint64_t clock_ms(double seconds, double most_s)
{
    return (uint64_t)((most_s > 0 && (seconds <= 0 || most_s < seconds) ? most_s : seconds) * 1000);
}

static int open_session(const struct request *request, const char *name, enum run_language language,
                        bool is_loose, struct session **ret_session, struct error *err)
{
    const struct api *api = request->api;
    const struct config *config = api->config;
    struct place *place = new_place(api->coderunner, language, is_loose);
    json_t *body = json_pack("{s:s}", "profile", PROFILE);
    struct run *model = run_new();
    const struct session_options options = {
        .name = name,
        .owner = request->owner,
        .max_own = api_max_sessions(request),
        .idle_ms = clock_ms(is_loose ? LOOSE_IDLE_S : 0, config->session_idle_s),
        .lifetime_ms = clock_ms(0, config->session_lifetime_s),
        .on_end = on_session_end,
        .user = place,
    };
    int r = place && body && model ? 0 : error_set(err, E_SYSTEM, "out of memory");

    if (is_loose)
        make_room(api->coderunner, request->owner);
    if (r == 0)
        r = api_admit(request, body, model, err);
    if (r == 0)
        r = sessions_open(api->sessions, take_ptr(model), &options, ret_session, err);
    json_decref(body);
    run_free(model);
    if (r == 0)
        place->session = *ret_session;
    else if (place)
        free_place(place);
    return r;
}

static void iso_time(double seconds, char *text, size_t size)
{
    time_t whole = (time_t)seconds;
    struct tm tm;

    (void)strftime(text, size, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&whole, &tm));
}

static enum run_language language_of(const struct api *api, const struct session *session)
{
    const struct place *place = find_place(api->coderunner, session);

    return place ? place->language : RUN_PYTHON;
}

static json_t *session_body(const struct api *api, const struct session *session)
{
    char created[32], used[32];
    struct session_info info;

    session_info(session, &info);
    iso_time(now_s() - (double)info.age_ms / 1000, created, sizeof(created));
    iso_time(now_s() - (double)info.idle_ms / 1000, used, sizeof(used));
    return json_pack("{s:s, s:s, s:s, s:s, s:s}", "session_id", info.id, "language",
                     language_of(api, session) == RUN_BASH ? "bash" : "python", "created_at",
                     created, "last_used", used, "status", "active");
}

static void start_session(struct request *request)
{
    const char *word = json_string_value(json_object_get(request->query, "language"));
    enum run_language language = RUN_PYTHON;
    struct session *session = NULL;
    struct error err = {0};

    if ((word && find_language(word, &language, &err) < 0) ||
        open_session(request, NULL, language, false, &session, &err) < 0)
        answer_error(request, &err);
    else
        request_answer_json(request, 200, session_body(request->api, session));
}

static void list_sessions(struct request *request)
{
    const struct api *api = request->api;
    json_t *list = json_array();

    for (struct session *s = sessions_next(api->sessions, NULL); s;
         s = sessions_next(api->sessions, s)) {
        struct session_info info;

        /* One that is ending is still there and not found any more. */
        session_info(s, &info);
        if (sessions_find(api->sessions, request->owner, info.id, NULL) == s)
            (void)json_array_append_new(list, session_body(api, s));
    }
    request_answer_json(request, 200, json_pack("{s:o}", "sessions", list));
}

/* NULL: the answer has been given. */
static struct session *find_session(struct request *request, const char *name)
{
    const struct api *api = request->api;
    struct error err = {0};
    struct session *session = sessions_find(api->sessions, request->owner, name, &err);

    if (!session)
        answer_no_session(request, &err);
    return session;
}

static void show_session(struct request *request)
{
    const struct session *session = find_session(request, request->params[0]);

    if (session)
        request_answer_json(request, 200, session_body(request->api, session));
}

static void end_session(struct request *request)
{
    struct session *session = find_session(request, request->params[0]);
    char message[128];

    if (!session)
        return;
    (void)snprintf(message, sizeof(message), "Session %.64s closed", request->params[0]);
    session_close(session, "it was closed by its owner");
    request_answer_json(request, 200,
                        json_pack("{s:b, s:o}", "success", 1, "message",
                                  json_text_string(message, strlen(message))));
}

/* --- the one session of a client that keeps no id --- */

static void answer_usual(struct request *request, const struct session *session, const char *status)
{
    struct session_info info;

    session_info(session, &info);
    request_answer_json(request, 200,
                        json_pack("{s:s, s:s}", "session_id", info.id, "status", status));
}

static void start_usual(struct request *request)
{
    const struct api *api = request->api;
    struct session *session = sessions_find(api->sessions, request->owner, USUAL_NAME, NULL);
    struct error err = {0};

    if (!session && open_session(request, USUAL_NAME, RUN_PYTHON, false, &session, &err) < 0)
        answer_error(request, &err);
    else
        answer_usual(request, session, "active");
}

static void show_usual(struct request *request)
{
    const struct session *session = find_session(request, USUAL_NAME);

    if (session)
        answer_usual(request, session, "active");
}

static void end_usual(struct request *request)
{
    struct session *session = find_session(request, USUAL_NAME);
    struct session_info info;
    json_t *body;

    if (!session)
        return;
    session_info(session, &info);
    body = json_pack("{s:s, s:s}", "session_id", info.id, "status", "closed");
    session_close(session, "it was closed by its owner");
    request_answer_json(request, 200, body);
}

/* --- cells --- */

/* Where a cell is run. */
struct spot {
    struct session *session; /* NULL: in a sandbox of its own, which is gone afterwards */
    bool is_fresh;           /* the session was opened for it */
};

/* The session that the body names, or a fresh one. Where there is no room for one, code that asks
 * for none runs all the same. -1: the answer has been given. */
static int pick_spot(struct request *request, const json_t *body, enum run_language language,
                     struct spot *ret_spot)
{
    const char *id = json_string_value(json_object_get(body, "session_id"));
    struct error err = {0};

    *ret_spot = (struct spot){0};
    if (id && *id) {
        ret_spot->session = find_session(request, id);
        return ret_spot->session ? 0 : -1;
    }
    if (open_session(request, NULL, language, true, &ret_spot->session, &err) == 0) {
        ret_spot->is_fresh = true;
        return 0;
    }
    if (err.code != E_BUSY) {
        answer_error(request, &err);
        return -1;
    }
    error_done(&err);
    return 0;
}

static void run_free_p(struct run **run)
{
    run_free(*run);
}

/* The cell, admitted; NULL: the answer has been given. */
static struct run *new_cell(struct request *request, const struct session *session,
                            const json_t *body, const char *code, enum run_language language)
{
    const struct api *api = request->api;
    const json_t *timeout = json_object_get(body, "timeout");
    double usual = api->config->timeout_s, most = api_max_timeout_s(request);
    double seconds = timeout ? json_number_value(timeout) : usual < most ? usual : most;
    json_t *native = json_pack("{s:s, s:s, s:s, s:f, s:b}", "profile", PROFILE, "code", code,
                               "language", language == RUN_BASH ? "bash" : "python", "timeout_s",
                               seconds, "auto_print", language == RUN_PYTHON);
    cleanup(run_free_p) struct run *cell = run_new();
    struct error err = {0};
    int r = native && cell ? 0 : error_set(&err, E_SYSTEM, "out of memory");

    if (r == 0)
        r = api_read_code(api, native, cell, &err);
    if (r == 0)
        r = session ? api_admit_cell(request, session, native, cell, &err)
                    : api_admit(request, native, cell, &err);
    json_decref(native);
    if (r < 0) {
        answer_error(request, &err);
        return NULL;
    }
    return take_ptr(cell);
}

static void start_task(struct request *request, struct session *session, struct run *cell)
{
    const struct api *api = request->api;
    struct job_form form = task_form;
    struct error err = {0};
    const struct job *job;

    form.user = new_task(cell, session);
    if (!form.user) {
        run_free(cell);
        error_set(&err, E_SYSTEM, "out of memory");
        answer_error(request, &err);
        return;
    }
    job = jobs_start_as(api->jobs, request, session, cell, &form);
    if (job)
        request_answer_json(request, 200,
                            json_pack("{s:s, s:s}", "task_id", job_id(job), "status", "queued"));
}

static const char *code_of(struct compat *c)
{
    const char *code = json_string_value(json_object_get(c->body, "code"));

    if (!code)
        code = json_string_value(json_object_get(c->body, "command"));
    if (!code && json_array_size(c->detail) == 0)
        compat_mistake(c, "missing", "command", "Field required", NULL);
    return code;
}

static void execute(struct request *request, bool is_task)
{
    const struct api *api = request->api;
    cleanup(compat_done) struct compat c;
    enum run_language language = RUN_PYTHON;
    const char *code, *word;
    struct spot spot;
    struct run *cell;
    struct error err = {0};

    compat_read(&c, request, execute_fields, false);
    code = code_of(&c);
    compat_at_most(&c, "timeout", api_max_timeout_s(request));
    if (compat_refuses(&c, request))
        return;
    word = json_string_value(json_object_get(c.body, "language"));
    if (word && find_language(word, &language, &err) < 0) {
        answer_error(request, &err);
        return;
    }
    if (pick_spot(request, c.body, language, &spot) < 0)
        return;
    if (!word && spot.session)
        language = language_of(api, spot.session);
    code = skip_magic(code, &language);
    cell = new_cell(request, spot.session, c.body, code, language);
    if (!cell && spot.is_fresh)
        session_close(spot.session, "there was nothing to run in it");
    else if (cell && is_task)
        start_task(request, spot.session, cell);
    else if (cell)
        (void)jobs_start_as(api->jobs, request, spot.session, cell, &result_form);
}

static void execute_now(struct request *request)
{
    execute(request, false);
}

static void execute_later(struct request *request)
{
    execute(request, true);
}

/* --- the table --- */

/* clang-format off */
#define ROWS(prefix)                                                                               \
    {"POST", prefix "/execute", execute_now, .body = execute_fields, .max_body = API_BODY_BYTES,   \
     .reads_body = true, .answers = "CodeRunnerResult", .status = 200, .tag = "coderunner",        \
     .summary = "run a cell and answer with its output, as CodeRunner does"},                      \
    {"POST", prefix "/execute_async", execute_later, .body = execute_fields,                       \
     .max_body = API_BODY_BYTES, .reads_body = true, .status = 200, .tag = "coderunner",           \
     .summary = "run a cell and answer at once with the id of a task"},                            \
    {"GET", prefix "/tasks/{task}", show_task, .status = 200, .tag = "coderunner",                 \
     .summary = "how far a task is, and its result, for an hour"},                                 \
    {"POST", prefix "/sessions", start_session, .query = session_query, .status = 200,             \
     .tag = "coderunner", .summary = "open a session"},                                            \
    {"GET", prefix "/sessions", list_sessions, .status = 200, .tag = "coderunner",                 \
     .summary = "the caller's sessions, as CodeRunner lists them"},                                \
    {"GET", prefix "/sessions/{session}", show_session, .status = 200, .tag = "coderunner",        \
     .summary = "one session, as CodeRunner shows it"},                                            \
    {"DELETE", prefix "/sessions/{session}", end_session, .status = 200, .tag = "coderunner",      \
     .summary = "end a session"},                                                                  \
    {"GET", prefix "/languages", show_languages, .access = ROUTE_PUBLIC, .status = 200,            \
     .tag = "coderunner", .summary = "which languages cells may be in"}

const struct route coderunner_routes[] = {
    ROWS(""),
    ROWS("/api"),
    {"GET", "/api/health", compat_show_health, .access = ROUTE_PUBLIC, .status = 200,
     .tag = "coderunner", .summary = "whether the service is well"},
    {"POST", "/v1/sessions/session", start_usual, .status = 200, .tag = "coderunner",
     .summary = "open the session by the name of `session`, unless there is one"},
    {"GET", "/v1/sessions/session", show_usual, .status = 200, .tag = "coderunner",
     .summary = "whether there is a session by the name of `session`"},
    {"DELETE", "/v1/sessions/session", end_usual, .status = 200, .tag = "coderunner",
     .summary = "end the session by the name of `session`"},
    {0},
};
/* clang-format on */

/* --- the memory --- */

int coderunner_new(struct coderunner **ret_coderunner, struct error *err)
{
    *ret_coderunner = calloc(1, sizeof(**ret_coderunner));
    return *ret_coderunner ? 0 : error_set(err, E_SYSTEM, "out of memory");
}

void coderunner_free(struct coderunner *coderunner)
{
    if (!coderunner)
        return;
    while (coderunner->first)
        free_place(coderunner->first);
    free(coderunner);
}
