/* The interface of SandboxFusion: `POST /run_code`, for graders and training runs as they are.
 *
 * Files travel as base64. A program that fails is an answer with status 200, whose `status` is
 * `Failed`; what Belljar itself cannot do is a `SandboxError` with the reason.
 */
#include <limits.h>
#include <string.h>

#include "api/api.h"
#include "api/attachments.h"
#include "base/base64.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/language.h"
#include "base/stream.h"
#include "compat/compat.h"

#define PROFILE   "open"
#define TEXT_MAX  (2 * LIMIT_OUTPUT_BYTES_MAX)
#define DEFAULT_S 10
#define TOO_MUCH  "files that were to be fetched are too large, and some are missing"

static const struct schema_field run_fields[] = {
    {"code", SCHEMA_STRING, .is_required = true, .max_len = LIMIT_CODE_BYTES,
     .help = "the program"},
    {"language", SCHEMA_STRING, .is_required = true, .max_len = 32,
     .help = "python, nodejs, typescript, bash or another of /languages"},
    {"run_timeout", SCHEMA_NUMBER, .help = "seconds (default 10)"},
    {"compile_timeout", SCHEMA_NUMBER, .help = "read and not used: nothing is compiled"},
    {"memory_limit_MB", SCHEMA_INTEGER, .help = "megabytes (default -1: as the server is set)"},
    {"stdin", SCHEMA_STRING, .help = "what the program reads from its standard input"},
    {"files", SCHEMA_MAP, .max_len = LIMIT_FILES_GIVEN,
     .help = "files to put into /workspace before it starts: paths, and contents as base64"},
    {"fetch_files", SCHEMA_STRINGS, .max_len = LIMIT_FILES_PATTERNS,
     .help = "paths of files to bring back"},
    {"args", SCHEMA_STRINGS, .max_len = LIMIT_ARGS_COUNT, .help = "arguments of the program"},
    {0},
};

/* --- the answer --- */

/* Takes the message, the result and the files over. */
static json_t *answer(const char *status, json_t *message, json_t *result, json_t *files)
{
    return json_pack("{s:s, s:o, s:n, s:o, s:n, s:o}", "status", status, "message", message,
                     "compile_result", "run_result", result, "executor_pod_name", "files", files);
}

static json_t *error_answer(enum error_code code, json_t *text)
{
    (void)code;
    return answer("SandboxError", text, json_null(), json_object());
}

static json_t *files_json(const struct run *run)
{
    json_t *files = json_object();

    for (size_t i = 0; i < run->result.n_collected; i++) {
        const struct run_collected *file = &run->result.collected[i];
        cleanup(buf_done) struct buf text = BUF_OF(2 * LIMIT_COLLECTED_BYTES);

        if (file->data && json_text_is_utf8(file->path, strlen(file->path)) &&
            base64_add(&text, file->data, file->len, NULL) == 0)
            (void)json_object_set_new_nocheck(files, file->path, json_string(buf_str(&text)));
    }
    return files;
}

static int result_answer(const struct run *run, json_t **ret_body, struct error *err)
{
    cleanup(buf_done) struct buf output = BUF_OF(TEXT_MAX), errors = BUF_OF(TEXT_MAX);
    bool is_late = run->result.status == RUN_TIMEOUT;
    json_t *result;

    if (run_stream_render(&run->result.out, &output, err) < 0 ||
        (is_late ? run_stream_render(&run->result.err, &errors, err)
                 : compat_stderr(run, &errors, err)) < 0)
        return -1;
    result =
        json_pack("{s:s, s:f, s:o, s:o, s:o}", "status", is_late ? "TimeLimitExceeded" : "Finished",
                  "execution_time", compat_seconds(run->result.usage.wall_ms), "return_code",
                  is_late ? json_null() : json_integer(run->result.exit_code), "stdout",
                  json_text_string(buf_str(&output), output.len), "stderr",
                  json_text_string(buf_str(&errors), errors.len));
    *ret_body = answer(run->result.status == RUN_SUCCESS ? "Success" : "Failed",
                       json_string(run->result.has_more_collected ? TOO_MUCH : ""), result,
                       files_json(run));
    return 0;
}

static const struct compat_form form = {error_answer, result_answer};

/* --- the request --- */

/* The paths as patterns that match nothing else. NULL: out of memory. */
static json_t *patterns_of(const json_t *paths)
{
    json_t *patterns = json_array(), *path;
    size_t i;

    json_array_foreach(paths, i, path)
    {
        cleanup(buf_done) struct buf pattern = BUF_OF(2 * PATH_MAX);
        const char *text = json_string_value(path);

        for (text += strncmp(text, "./", 2) == 0 ? 2 : 0; *text; text++)
            (void)buf_printf(&pattern, NULL, "%s%c", strchr("*?[\\", *text) ? "\\" : "", *text);
        (void)json_array_append_new(patterns, json_string(buf_str(&pattern)));
    }
    return patterns;
}

/* With the fields of the native request. What it refers to belongs to `*ret_body`. */
static int read_attachments(const json_t *given, struct run_request *asked, json_t **ret_body,
                            struct error *err)
{
    json_t *list = json_array(), *content;
    const char *path;

    *ret_body = json_pack("{s:o, s:o}", "files", list, "collect",
                          patterns_of(json_object_get(given, "fetch_files")));
    if (!*ret_body)
        return error_memory(err);
    json_object_foreach(json_object_get(given, "files"), path, content)
    {
        if (json_is_string(content)) /* others have none */
            (void)json_array_append_new(list, json_pack("{s:s, s:O, s:s}", "path", path, "content",
                                                        content, "encoding", "base64"));
    }
    return attachments_read(*ret_body, NULL, asked, err);
}

static int read_request(const struct request *request, const json_t *body,
                        struct run_request *asked, json_t **ret_attached, struct error *err)
{
    const json_t *code = json_object_get(body, "code"), *input = json_object_get(body, "stdin"),
                 *seconds = json_object_get(body, "run_timeout"),
                 *memory = json_object_get(body, "memory_limit_MB"), *word;
    double most = api_limit_max(request->api, request->caller, RUN_LIMIT_ROW_timeout_s);
    int language = language_find(span_of(json_string_value(json_object_get(body, "language"))));
    size_t i;

    if (language < 0) {
        error_set(err, E_INVALID, "this language is not supported");
        return error_hint(err, "/languages lists those that are");
    }
    asked->language = (enum run_language)language;
    asked->code = (struct span){json_string_value(code), json_string_length(code)};
    if (input)
        asked->input = (struct span){json_string_value(input), json_string_length(input)};
    run_request_set_limit(asked, RUN_LIMIT_ROW_timeout_s,
                          seconds            ? json_number_value(seconds)
                          : DEFAULT_S < most ? DEFAULT_S
                                             : most);
    if (memory && json_integer_value(memory) > 0)
        run_request_set_limit(asked, RUN_LIMIT_ROW_memory_mb, json_number_value(memory));
    json_array_foreach(json_object_get(body, "args"), i, word)
    {
        if (run_request_add(&asked->args, json_string_value(word), err) < 0)
            return -1;
    }
    return read_attachments(body, asked, ret_attached, err);
}

static void run_code(struct request *request)
{
    cleanup(run_request_done) struct run_request asked = {.profile = PROFILE};
    cleanup(compat_done) struct compat c;
    cleanup_json json_t *attached = NULL;
    struct error err = {0};

    compat_read(&c, request, run_fields, false);
    if (compat_refuses(&c, request))
        return;
    if (read_request(request, c.body, &asked, &attached, &err) < 0)
        compat_answer_error(request, &form, &err);
    else
        compat_start(request, &form, &asked);
}

/* clang-format off */
const struct route sandboxfusion_routes[] = {
    {"POST", "/run_code", run_code, .body = run_fields, .max_body = API_BODY_BYTES, .reads_body = true,
     .load = compat_parse, .passes_over = true, .answers = "SandboxFusionResult", .status = 200, .tag = "sandboxfusion",
     .summary = "run a program with files, as SandboxFusion does"},
    {0},
};
/* clang-format on */
