/* The interface of PyRunner: `POST /run`, `GET /` and `GET /health`, for its clients as they are.
 *
 * What it promised and did not keep holds here: output up to a timeout is there, memory is
 * measured, and a program that ended for want of memory is said to have. A program that the policy
 * refuses is an answer with status 200, as it is there.
 */
#include <string.h>

#include "api/api.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/stream.h"
#include "base/utf8.h"
#include "compat/compat.h"

#define PROFILE       "pyrunner"
#define CODE_CHARS    1000000
#define TEXT_MAX      (2 * LIMIT_OUTPUT_BYTES_MAX)
#define WHITE         " \t\r\n\f\v"
#define REFUSED       "Security validation failed: "
#define DEFAULT_S     30
#define DEFAULT_MB    512
#define MAX_S         300
#define MAX_MEMORY_MB 2048

static const struct schema_field run_fields[] = {
    {"code", SCHEMA_STRING, .is_required = true,
     .help = "the program, at most 1,000,000 characters"},
    {"timeout", SCHEMA_INTEGER, .min = 1, .max = MAX_S, .help = "seconds (default 30)"},
    {"memory_limit", SCHEMA_INTEGER, .min = 64, .max = MAX_MEMORY_MB,
     .help = "megabytes (default 512)"},
    {"auto_print", SCHEMA_BOOLEAN, .help = "print the value of the last expression (default true)"},
    {0},
};

/* --- the answer --- */

static json_t *megabytes(uint64_t bytes)
{
    uint64_t hundredths = bytes * 100 / MIB + (bytes * 100 % MIB != 0);

    return json_real((double)hundredths / 100);
}

static int write_stderr(const struct run *run, struct buf *text, struct error *err)
{
    if (run->result.status == RUN_REFUSED && buf_add_str(text, REFUSED, err) < 0)
        return -1;
    return compat_stderr(run, text, err);
}

/* One request for more than there can be ends the program before it has used anything. */
static bool lacked_memory(const struct run *run)
{
    const char *name = run->result.exception.name;

    return run->result.status == RUN_ERROR && name &&
           (strcmp(name, "MemoryError") == 0 || strcmp(name, "_ArrayMemoryError") == 0);
}

static const char *status_of(const struct run *run)
{
    if (lacked_memory(run))
        return run_status_name(RUN_MEMORY_EXCEEDED);
    return run->result.status == RUN_REFUSED || run->result.status == RUN_CANCELLED
               ? "error"
               : run_status_name(run->result.status);
}

static json_t *error_json(const struct run *run, const struct buf *text)
{
    size_t skipped = run->result.status == RUN_REFUSED ? strlen(REFUSED) : 0;

    if (strcmp(status_of(run), "error") != 0)
        return json_null();
    return json_text_string(buf_str(text) + skipped, text->len - skipped);
}

static int write_result(const struct run *run, void *user, struct buf *out, int *ret_status,
                        struct error *err)
{
    cleanup(buf_done) struct buf output = {0}, errors = {0};
    bool has_run = run->result.status != RUN_REFUSED;
    json_t *object;

    (void)user;
    if (run->result.error.code != E_NONE) {
        error_copy(err, &run->result.error);
        return -1;
    }
    *ret_status = 200;
    buf_init(&output, TEXT_MAX);
    buf_init(&errors, TEXT_MAX);
    if (run_stream_render(&run->result.out, &output, err) < 0 ||
        write_stderr(run, &errors, err) < 0)
        return -1;
    object = json_pack("{s:s, s:o, s:o, s:f, s:o, s:o}", "status", status_of(run), "stdout",
                       json_text_string(buf_str(&output), output.len), "stderr",
                       json_text_string(buf_str(&errors), errors.len), "execution_time",
                       has_run ? compat_seconds(run->result.usage.wall_ms) : 0.0, "memory_used",
                       has_run ? megabytes(run->result.usage.memory_peak_bytes) : json_null(),
                       "error", error_json(run, &errors));
    return compat_dump(object, out, err);
}

static const struct job_form form = {.write = write_result};

/* --- the request --- */

static size_t count_characters(const char *text, size_t len)
{
    size_t count = 0;

    for (size_t i = 0; i < len; i++)
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

static void check_code(struct compat *c)
{
    const json_t *code = json_object_get(c->body, "code");
    const char *text = json_string_value(code);

    if (!text)
        return;
    if (strspn(text, WHITE) == strlen(text))
        compat_mistake(c, "value_error", "code", "Value error, Code cannot be empty", code);
    else if (count_characters(text, json_string_length(code)) > CODE_CHARS)
        compat_mistake(c, "value_error", "code", "Value error, Code too large (max 1MB)", NULL);
}

/* If the operator's ceiling is below a default, the ceiling is the default. */
static double limit_of(const struct request *request, const json_t *body, const char *name,
                       double usual, enum run_limit_row row)
{
    const json_t *given = json_object_get(body, name);
    double most = api_limit_max(request->api, request->caller, row);

    if (given)
        return json_number_value(given);
    return usual < most ? usual : most;
}

static void start(struct request *request, const json_t *body)
{
    struct api *api = request->api;
    struct admission admission = api_admission(api, request->caller);
    const json_t *code = json_object_get(body, "code"),
                 *prints = json_object_get(body, "auto_print");
    struct run_request asked = {
        .code = {json_string_value(code), json_string_length(code)},
        .profile = PROFILE,
        .auto_print = !prints || json_is_true(prints),
        .auto_print_str = true,
    };
    struct job_order order;
    struct run *run = NULL;
    struct error err = {0};

    admission.gives_all = false; /* PyRunner's programs have neither files nor hosts */
    run_request_set_limit(&asked, RUN_LIMIT_ROW_timeout_s,
                          limit_of(request, body, "timeout", DEFAULT_S, RUN_LIMIT_ROW_timeout_s));
    run_request_set_limit(
        &asked, RUN_LIMIT_ROW_memory_mb,
        limit_of(request, body, "memory_limit", DEFAULT_MB, RUN_LIMIT_ROW_memory_mb));
    if (admit_request(&admission, &asked, &run, &err) < 0) {
        request_answer_error(request, &err);
        return;
    }
    order = job_order_of(request, run);
    order.form = form;
    (void)jobs_start_or_answer(api->jobs, request, &order);
}

static void run_code(struct request *request)
{
    cleanup(compat_done) struct compat c;

    compat_read(&c, request, run_fields, true);
    check_code(&c);
    compat_at_most(&c, "timeout",
                   api_limit_max(request->api, request->caller, RUN_LIMIT_ROW_timeout_s));
    compat_at_most(&c, "memory_limit",
                   api_limit_max(request->api, request->caller, RUN_LIMIT_ROW_memory_mb));
    if (!compat_refuses(&c, request))
        start(request, c.body);
}

/* --- about the service --- */

static double least(double a, double b)
{
    return a < b ? a : b;
}

static void show_service(struct request *request)
{
    const struct config *config = ((const struct api *)request->api)->config;
    bool is_pyrunner = strcmp(config->mcp_compat, "pyrunner") == 0;

    if (((const struct api *)request->api)->has_console && route_wants_page(request)) {
        request_begin(request, 303, NULL, "Location: /console/\r\nVary: Accept\r\n", 0);
        request_end(request);
        return;
    }

    request_answer_json(
        request, 200,
        json_pack("{s:s, s:s, s:s, s:s, s:{s:I, s:I, s:[s,s,s,s,s,s]}}", "service",
                  is_pyrunner ? "PyRunner" : "Belljar", "status", "healthy", "version",
                  is_pyrunner ? COMPAT_VERSION : BELLJAR_VERSION, "implementation",
                  "Belljar " BELLJAR_VERSION, "capabilities", "max_timeout",
                  (json_int_t)least(MAX_S, config->max_timeout_s), "max_memory_mb",
                  (json_int_t)least(MAX_MEMORY_MB, (double)config->max_memory_mb), "libraries",
                  "sympy", "numpy", "pandas", "matplotlib", "scipy", "sklearn"));
}

/* clang-format off */
const struct route pyrunner_routes[] = {
    {"POST", "/run", run_code, .body = run_fields, .max_body = API_BODY_BYTES, .reads_body = true, .load = compat_parse,
     .answers = "PyRunnerResult", .status = 200, .tag = "pyrunner",
     .summary = "run a Python program, as PyRunner does"},
    {"GET", "/", show_service, .access = ROUTE_PUBLIC, .answers = "Service", .status = 200, .tag = "pyrunner",
     .summary = "the name and version of this service; with `mcp_compat = \"pyrunner\"`, those of PyRunner"},
    {"GET", "/health", compat_show_health, .access = ROUTE_PUBLIC, .answers = "Health", .status = 200, .tag = "pyrunner",
     .summary = "health of the service, in the format of PyRunner and CodeRunner"},
    {0},
};
/* clang-format on */
