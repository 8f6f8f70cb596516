/* The interface of CodeRunner: `/execute`, `/execute_async` with `/tasks/{id}`, `/sessions` and
 * `/languages`, for its clients as they are; the same below `/api`, where its own client asks.
 *
 * Its sessions were a promise: here each is a sandbox of its own, with variables and files that
 * stay. Code runs once, in the language that was asked for, for as long as was asked for. A request
 * that names no session opens one and answers with its id; of these only a few are kept.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/api.h"
#include "api/result.h"
#include "base/cleanup.h"
#include "base/error_json.h"
#include "base/json.h"
#include "base/language.h"
#include "base/stream.h"
#include "compat/coderunner_internal.h"
#include "compat/compat.h"

#define TEXT_MAX (2 * LIMIT_OUTPUT_BYTES_MAX)

static const struct schema_field execute_fields[] = {
    {"command", SCHEMA_STRING, .max_len = LIMIT_CODE_BYTES, .help = "what to run"},
    {"code", SCHEMA_STRING, .max_len = LIMIT_CODE_BYTES, .help = "the same under another name"},
    {"language", SCHEMA_STRING, .max_len = 32,
     .help = "python, bash or another of /languages (default: the session's)"},
    {"timeout", SCHEMA_INTEGER, .min = 1, .max = 86400, .help = "seconds (default 30)"},
    {"session_id", SCHEMA_STRING, .max_len = 64,
     .help = "the session to run it in; a new one by default"},
    {0},
};

static const struct schema_field session_query[] = {
    {"language", SCHEMA_STRING, .max_len = 32,
     .help = "python (default), bash or another of /languages"},
    {0},
};

/* --- languages --- */

int coderunner_find_language(const char *text, enum run_language *ret_language, struct error *err)
{
    struct span word;
    int found;

    text += strspn(text, " \t\r\n");
    word = (struct span){text, strlen(text)};
    while (word.len && isspace((unsigned char)text[word.len - 1]))
        word.len--;
    found = language_find(word);
    if (found >= 0) {
        *ret_language = (enum run_language)found;
        return 0;
    }
    error_set(err, E_INVALID, "Unsupported language: %.*s", word.len < 32 ? (int)word.len : 32,
              word.data);
    return error_hint(err, "/languages lists the available languages");
}

static void show_languages(struct request *request)
{
    json_t *list = json_object();

    for (size_t i = 0; i < RUN_LANGUAGES; i++)
        if (language_is_installed((enum run_language)i))
            (void)json_object_set_new(
                list, languages[i].name,
                json_pack("{s:o}", "aliases", language_words_json(languages[i].aliases)));
    request_answer_json(request, 200,
                        json_pack("{s:o, s:s}", "languages", list, "default", "python"));
}

/* A notebook's way to say that a cell is the shell's. Lines of the shell (`!ls`) are left to the
 * Python kernel, which knows the variables in them. */
static const char *skip_magic(const char *code, enum run_language *language)
{
    size_t n = strspn(code, " \t\r\n");

    if (strncmp(code + n, "%%bash", 6) == 0 && strchr("\r\n", code[n + 6])) {
        *language = RUN_BASH;
        return code + n + 6;
    }
    return code;
}

/* --- answers --- */

double coderunner_now_s(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

json_t *coderunner_error_body(const struct error *err)
{
    json_t *body = error_json(err, HINT_FOR_HTTP);
    const char *text = error_message(err);

    (void)json_object_set_new(body, "detail", json_text_string(text, strlen(text)));
    return body;
}

void coderunner_answer_error(struct request *request, struct error *err)
{
    int status = error_code_http(err->code);
    json_t *body = coderunner_error_body(err);

    error_done(err);
    request_answer_json(request, status, body);
}

int coderunner_result(const struct run *run, json_t **ret_body, struct error *err)
{
    cleanup(buf_done) struct buf output = {0}, errors = {0};

    buf_init(&output, TEXT_MAX);
    buf_init(&errors, TEXT_MAX);
    if (run_stream_render(&run->result.out, &output, err) < 0 ||
        compat_stderr(run, &errors, err) < 0)
        return -1;
    *ret_body = json_pack("{s:o, s:o, s:f, s:f, s:s?, s:s}", "stdout",
                          json_text_string(buf_str(&output), output.len), "stderr",
                          json_text_string(buf_str(&errors), errors.len), "execution_time",
                          compat_seconds(run->result.usage.wall_ms), "cpu_time",
                          compat_seconds(run->result.usage.cpu_ms), "session_id",
                          *run->origin.session ? run->origin.session : NULL, "status",
                          run_status_name(run->result.status));
    return *ret_body ? 0 : error_memory(err);
}

static int write_result(const struct run *run, void *user, struct buf *out, int *ret_status,
                        struct error *err)
{
    json_t *body = NULL;

    (void)user;
    if (run->result.error.code != E_NONE) {
        *ret_status = error_code_http(run->result.error.code);
        return compat_dump(coderunner_error_body(&run->result.error), out, err);
    }
    return coderunner_result(run, &body, err) < 0 ? -1 : compat_dump(body, out, err);
}

static const struct job_form result_form = {.write = write_result};

/* --- cells --- */

/* The session in which a cell is run. */
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
        ret_spot->session = coderunner_find(request, id);
        return ret_spot->session ? 0 : -1;
    }
    if (coderunner_open(request, NULL, language, true, &ret_spot->session, &err) == 0) {
        ret_spot->is_fresh = true;
        return 0;
    }
    if (err.code != E_BUSY) {
        coderunner_answer_error(request, &err);
        return -1;
    }
    error_done(&err);
    return 0;
}

/* The cell, admitted; NULL: the answer has been given. */
static struct run *new_cell(struct request *request, const struct session *session,
                            const json_t *body, const char *code, enum run_language language)
{
    const struct api *api = request->api;
    struct admission admission = api_admission(api, request->caller);
    const json_t *timeout = json_object_get(body, "timeout");
    double usual = api->config->timeout_s,
           most = api_limit_max(request->api, request->caller, RUN_LIMIT_ROW_timeout_s);
    struct run_request asked = {
        .code = {code, strlen(code)},
        .language = language,
        .profile = CODERUNNER_PROFILE,
        .auto_print = language != RUN_BASH,
    };
    struct run *cell = NULL;
    struct error err = {0};

    run_request_set_limit(&asked, RUN_LIMIT_ROW_timeout_s,
                          timeout        ? json_number_value(timeout)
                          : usual < most ? usual
                                         : most);
    admission.session = session;
    admission.has_skills = true;
    if (admit_request(&admission, &asked, &cell, &err) < 0)
        coderunner_answer_error(request, &err);
    return cell;
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

static void start_cell(struct request *request, struct session *session, struct run *cell)
{
    const struct api *api = request->api;
    struct job_order order = job_order_of(request, cell);

    order.session = session;
    order.form = result_form;
    (void)jobs_start_or_answer(api->jobs, request, &order);
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
    compat_at_most(&c, "timeout",
                   api_limit_max(request->api, request->caller, RUN_LIMIT_ROW_timeout_s));
    if (compat_refuses(&c, request))
        return;
    word = json_string_value(json_object_get(c.body, "language"));
    if (word && coderunner_find_language(word, &language, &err) < 0) {
        coderunner_answer_error(request, &err);
        return;
    }
    if (pick_spot(request, c.body, language, &spot) < 0)
        return;
    if (!word && spot.session)
        language = coderunner_language(api, spot.session);
    code = skip_magic(code, &language);
    cell = new_cell(request, spot.session, c.body, code, language);
    if (!cell && spot.is_fresh)
        session_close(spot.session, "there was nothing to run in it");
    else if (cell && is_task)
        coderunner_start_task(request, spot.session, cell);
    else if (cell)
        start_cell(request, spot.session, cell);
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
     .reads_body = true, .load = compat_parse, .passes_over = true, .answers = "CodeRunnerResult", .status = 200, .tag = "coderunner",        \
     .summary = "run a cell and answer with its output, as CodeRunner does"},                      \
    {"POST", prefix "/execute_async", execute_later, .body = execute_fields,                       \
     .max_body = API_BODY_BYTES, .reads_body = true, .load = compat_parse, .passes_over = true, .answers = "CodeRunnerQueued", .status = 200, .tag = "coderunner", \
     .summary = "run a cell and answer at once with the id of a task"},                            \
    {"GET", prefix "/tasks/{task}", coderunner_show_task, .answers = "CodeRunnerTask", .status = 200, .tag = "coderunner",                 \
     .summary = "progress and result of a task, kept for an hour"},                                 \
    {"POST", prefix "/sessions", coderunner_start_session, .query = session_query, .answers = "CodeRunnerSession", .status = 200,             \
     .tag = "coderunner", .summary = "open a session"},                                            \
    {"GET", prefix "/sessions", coderunner_list_sessions, .answers = "CodeRunnerSessions", .status = 200, .tag = "coderunner",                 \
     .summary = "the caller's sessions, as CodeRunner lists them"},                                \
    {"GET", prefix "/sessions/{session}", coderunner_show_session, .answers = "CodeRunnerSession", .status = 200, .tag = "coderunner",        \
     .summary = "one session, as CodeRunner shows it"},                                            \
    {"DELETE", prefix "/sessions/{session}", coderunner_end_session, .answers = "CodeRunnerClosed", .status = 200, .tag = "coderunner",      \
     .summary = "end a session"},                                                                  \
    {"GET", prefix "/languages", show_languages, .access = ROUTE_PUBLIC, .answers = "Languages", .status = 200,            \
     .tag = "coderunner", .summary = "which languages cells may be in"}

#define PAGES(prefix)                                                                              \
    {"POST", prefix "/navigate", coderunner_navigate, .body = coderunner_page_fields, .max_body = 64 * KIB, .reads_body = true,   \
     .load = compat_parse, .passes_over = true, .answers = "CodeRunnerPage", .status = 200, .tag = "coderunner",      \
     .summary = "the text and title of a page of a granted host"},                                 \
    {"POST", prefix "/content", coderunner_read_page, .body = coderunner_page_fields, .max_body = 64 * KIB, .reads_body = true,   \
     .load = compat_parse, .passes_over = true, .answers = "CodeRunnerContent", .status = 200, .tag = "coderunner",   \
     .summary = "the text of a page of a granted host"}

const struct route coderunner_routes[] = {
    ROWS(""),
    ROWS("/api"),
    {"GET", "/api/health", compat_show_health, .access = ROUTE_PUBLIC, .answers = "Health", .status = 200,
     .tag = "coderunner", .summary = "health of the service"},
    {"POST", "/v1/execute", execute_now, .body = execute_fields, .max_body = API_BODY_BYTES,
     .reads_body = true, .load = compat_parse, .passes_over = true, .answers = "CodeRunnerResult", .status = 200, .tag = "coderunner",
     .summary = "run a cell and answer with its output, as CodeRunner does"},
    PAGES("/v1/browser"),
    PAGES("/v1/browser/interactions"),
    {"POST", "/v1/sessions/session", coderunner_start_usual, .answers = "CodeRunnerSessionState", .status = 200, .tag = "coderunner",
     .summary = "open the session named in `session`, unless it exists"},
    {"GET", "/v1/sessions/session", coderunner_show_usual, .answers = "CodeRunnerSessionState", .status = 200, .tag = "coderunner",
     .summary = "whether the session named in `session` exists"},
    {"DELETE", "/v1/sessions/session", coderunner_end_usual, .answers = "CodeRunnerSessionState", .status = 200, .tag = "coderunner",
     .summary = "end the session named in `session`"},
    {0},
};
/* clang-format on */
