/* The interface of Dify's sandbox: `POST /v1/sandbox/run`, for its workflows as they are.
 *
 * A node of Dify prints its result between two marks and takes it from the output; it fails when
 * the program wrote to stderr. The number in `code` says how the request went, not the program.
 * Dify shows the message of an answer with status 200, and of no other.
 */
#include "api/api.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/language.h"
#include "base/stream.h"
#include "compat/compat.h"

#define PROFILE  "open"
#define TEXT_MAX (2 * LIMIT_OUTPUT_BYTES_MAX)

static const struct schema_field run_fields[] = {
    {"language", SCHEMA_STRING, .is_required = true, .max_len = 32, .help = "python3 or nodejs"},
    {"code", SCHEMA_STRING, .is_required = true, .max_len = LIMIT_CODE_BYTES,
     .help = "the program"},
    {"preload", SCHEMA_STRING, .help = "read and not used, as in Dify's own sandbox by default"},
    {"enable_network", SCHEMA_BOOLEAN,
     .help = "read and not used: the operator grants hosts (`net`)"},
    {0},
};

/* Takes the message and the data over. */
static json_t *answer(json_int_t code, json_t *message, json_t *data)
{
    return json_pack("{s:I, s:o, s:o}", "code", code, "message", message, "data", data);
}

static json_t *error_answer(enum error_code code, json_t *text)
{
    return answer(code == E_INVALID ? -400 : -500, text, json_null());
}

static int result_answer(const struct run *run, json_t **ret_body, struct error *err)
{
    cleanup(buf_done) struct buf output = BUF_OF(TEXT_MAX), errors = BUF_OF(TEXT_MAX);

    if (run_stream_render(&run->result.out, &output, err) < 0 ||
        compat_stderr(run, &errors, err) < 0)
        return -1;
    *ret_body =
        answer(0, json_string("success"),
               json_pack("{s:o, s:o}", "error", json_text_string(buf_str(&errors), errors.len),
                         "stdout", json_text_string(buf_str(&output), output.len)));
    return 0;
}

static const struct compat_form form = {error_answer, result_answer};

static int read_request(const json_t *body, struct run_request *asked, struct error *err)
{
    const json_t *code = json_object_get(body, "code");
    int language = language_find(span_of(json_string_value(json_object_get(body, "language"))));

    if (language < 0)
        return error_set(err, E_INVALID, "unsupported language");
    asked->language = (enum run_language)language;
    asked->code = (struct span){json_string_value(code), json_string_length(code)};
    return 0;
}

static void run_code(struct request *request)
{
    struct run_request asked = {.profile = PROFILE};
    cleanup(compat_done) struct compat c;
    struct error err = {0};

    compat_read(&c, request, run_fields, false);
    if (compat_refuses(&c, request))
        return;
    if (read_request(c.body, &asked, &err) < 0)
        compat_answer_error(request, &form, &err);
    else
        compat_start(request, &form, &asked);
}

/* clang-format off */
const struct route dify_routes[] = {
    {"POST", "/v1/sandbox/run", run_code, .body = run_fields, .max_body = API_BODY_BYTES, .reads_body = true,
     .load = compat_parse, .passes_over = true, .answers = "DifyResult", .status = 200, .tag = "dify",
     .summary = "run a program, as Dify's sandbox does"},
    {0},
};
/* clang-format on */
