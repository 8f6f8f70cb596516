/* Tools by the names, with the parameters and the answers of other servers, for prompts and
 * programs that were written for those. They can always be called, and are listed where the setting
 * mcp_compat asks for them. */
#include <string.h>

#include "api/page.h"
#include "api/result.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/stream.h"
#include "mcp/tools.h"

/* --- the marketplace's execution runtime --- */

static json_t *stream_text(const struct run_stream *stream)
{
    cleanup(buf_done) struct buf text = BUF_OF(LIMIT_OUTPUT_BYTES_MAX + MIB);

    (void)run_stream_render(stream, &text, NULL);
    return json_text_string(buf_str(&text), text.len);
}

/* With what was refused behind it: there is no other place for it. */
static json_t *error_text(const struct run *run)
{
    cleanup(buf_done) struct buf text = BUF_OF(LIMIT_OUTPUT_BYTES_MAX + MIB);

    (void)run_stream_render(&run->result.err, &text, NULL);
    (void)result_add_denials(run, &text, NULL);
    return json_text_string(buf_str(&text), text.len);
}

/* All of them, one in a line, each with its place and what to do instead. */
static void add_refusals(const struct mcp_call *call, const struct run *run, struct buf *out)
{
    for (size_t i = 0; i < run->result.n_violations; i++) {
        const struct run_violation *v = &run->result.violations[i];
        const char *before = strcmp(v->rule, "import") == 0   ? "Import not allowed: "
                             : strcmp(v->rule, "syntax") == 0 ? "Syntax error: "
                                                              : "";

        (void)buf_printf(out, NULL, "%s%s%s", i ? "\n" : "", before, v->message ? v->message : "");
        if (v->line)
            (void)buf_printf(out, NULL, " (line %u)", v->line);
        if (v->hint) {
            (void)buf_add_str(out, "; hint: ", NULL);
            (void)mcp_add_hint(call, v->hint, out);
        }
    }
    if (run->result.violations_more)
        (void)buf_printf(out, NULL, "\nand %u more", run->result.violations_more);
}

/* The words it has for each cause. */
static void marketplace_error(const struct mcp_call *call, const struct run *run, struct buf *out)
{
    const struct run_exception *e = &run->result.exception;

    if (run->result.status == RUN_TIMEOUT)
        (void)buf_printf(out, NULL, "Execution exceeded %g seconds",
                         run->terms.limits.timeout_ms / 1000.0);
    else if (run->result.status == RUN_MEMORY_EXCEEDED)
        (void)buf_add_str(out, "Memory limit exceeded", NULL);
    else if (run->result.status == RUN_REFUSED && run->result.n_violations)
        add_refusals(call, run, out);
    else if (e->name)
        (void)buf_printf(out, NULL, "%s: %s", e->name, e->message ? e->message : "");
    else
        (void)buf_printf(out, NULL, "%s", run_status_name(run->result.status));
}

static json_t *marketplace_value(const struct run *run)
{
    static const struct json_text_limits limits = {
        .bytes = LIMIT_RESULT_BYTES, .depth = 200, .allows_nul = true, .allows_scalar = true};
    json_t *value = NULL;

    if (run->result.value_json &&
        json_text_load(run->result.value_json, strlen(run->result.value_json), &limits, &value,
                       NULL) == 0)
        return value;
    return run->result.value_text
               ? json_text_string(run->result.value_text, strlen(run->result.value_text))
               : json_null();
}

static json_t *marketplace_result(struct mcp_call *call, const struct run *run, const char *note)
{
    cleanup(buf_done) struct buf text = {0}, error = {0};
    bool is_good = run->result.status == RUN_SUCCESS;
    json_t *object = json_pack("{s:s, s:o, s:o}", "status", is_good ? "success" : "error", "stdout",
                               stream_text(&run->result.out), "stderr", error_text(run));
    bool has_both = mcp_result_has_links(call);
    json_t *result, *bounded;

    (void)note;
    buf_init(&error, LIMIT_RESULT_BYTES + MIB);
    buf_init(&text, 4 * LIMIT_OUTPUT_BYTES_MAX);
    marketplace_error(call, run, &error);
    if (is_good)
        (void)json_object_set_new(object, "result", marketplace_value(run));
    else
        (void)json_object_set_new(object, "error", json_text_string(buf_str(&error), error.len));
    if (!is_good && (run->result.exception.hint || run->result.hint))
        (void)json_object_set_new(object, "hint",
                                  mcp_hint_json(call, run->result.exception.hint
                                                          ? run->result.exception.hint
                                                          : run->result.hint));
    bounded = mcp_bound_object(call, object, has_both ? call->max_tokens / 2 : call->max_tokens);
    json_decref(object);
    object = bounded;
    (void)json_text_dump(object, JSON_TEXT_COMPACT, &text, NULL);
    result = mcp_text_result(buf_str(&text), text.len, !is_good);
    if (has_both)
        (void)json_object_set_new(result, "structuredContent", object);
    else
        json_decref(object);
    return result;
}

/* Each call is on its own there. */
static void execute_python(struct mcp_call *call)
{
    const json_t *code = json_object_get(call->arguments, "code");
    const struct mcp_program program = {
        .code = json_string_value(code),
        .len = json_string_length(code),
        .language = RUN_PYTHON,
        .masks_all = json_is_true(json_object_get(call->arguments, "aggressive_masking")),
        .answer = marketplace_result,
    };

    mcp_run(call, &program);
}

/* --- the CMS's code executor --- */

/* The words by which its clients tell why there is no output. */
static const char *cms_failure(const struct run *run)
{
    const char *name = run->result.exception.name;
    bool is_syntax = name && run->result.status == RUN_ERROR &&
                     (strcmp(name, "SyntaxError") == 0 || strcmp(name, "IndentationError") == 0 ||
                      strcmp(name, "TabError") == 0);

    return run->result.status == RUN_REFUSED   ? "Code validation failed"
           : is_syntax                         ? "Code validation failed: Syntax error"
           : run->result.status == RUN_TIMEOUT ? "[TIMEOUT] Code execution failed"
                                               : "Code execution failed";
}

static json_t *cms_result(struct mcp_call *call, const struct run *run, const char *note)
{
    cleanup(buf_done) struct buf text = {0}, out = {0};
    bool is_good = run->result.status == RUN_SUCCESS;

    buf_init(&text, 4 * LIMIT_OUTPUT_BYTES_MAX);
    buf_init(&out, LIMIT_OUTPUT_BYTES_MAX + MIB);
    (void)run_stream_render(&run->result.out, &out, NULL);
    if (is_good && out.len)
        (void)buf_printf(&text, NULL, "Code executed successfully:\n\n%s", buf_str(&out));
    else if (is_good)
        (void)buf_add_str(&text, "Code executed successfully (no output)", NULL);
    else if (buf_printf(&text, NULL, "%s\n", cms_failure(run)) == 0)
        (void)mcp_result_text(call, run, note, &text);
    return mcp_text_result(buf_str(&text), text.len, !is_good);
}

/* Every call starts afresh, as it does there. The session is the operator's name for the data that
 * the operator's functions return. */
static void execute_code(struct mcp_call *call)
{
    const json_t *code = json_object_get(call->arguments, "code");
    struct mcp_program program = {
        .code = json_string_value(code),
        .len = json_string_length(code),
        .language = RUN_PYTHON,
        .session_name = json_string_value(json_object_get(call->arguments, "session_id")),
        .answer = cms_result,
    };

    mcp_run(call, &program);
}

/* --- CodeRunner --- */

static void python_command(struct mcp_call *call)
{
    mcp_run_cell(call, "command", RUN_PYTHON);
}

static void bash_command(struct mcp_call *call)
{
    mcp_run_cell(call, "command", RUN_BASH);
}

static void show_kernels(struct mcp_call *call)
{
    mcp_tool_status.call(call);
}

/* The page's text by a program of ours, in a fresh sandbox and through its gate like any other. */
static void navigate(struct mcp_call *call)
{
    const json_t *url = json_object_get(call->arguments, "url");
    cleanup(buf_done) struct buf code = BUF_OF(64 * KIB);
    struct mcp_program program = {.language = RUN_PYTHON, .answer = mcp_result};
    struct error err = {0};

    if (page_program(url, "print(page['text'])", &code, &err) < 0) {
        mcp_call_fail(call, &err);
        return;
    }
    program.code = buf_str(&code);
    program.len = code.len;
    mcp_run(call, &program);
}

/* clang-format off */
static const struct schema_field url_fields[] = {
    {"url", SCHEMA_STRING, .is_required = true, .max_len = 4096,
     .help = "an http or https address of a granted host", .example = "\"https://docs.example.org/\""},
    {0},
};

static const struct schema_field marketplace_fields[] = {
    {"code", SCHEMA_STRING, .is_required = true, .max_len = LIMIT_CODE_BYTES,
     .help = "Python source", .example = "\"result = 1 + 1\""},
    {"mask_pii", SCHEMA_BOOLEAN, .example = "true",
     .help = "ignored: secrets are always masked"},
    {"aggressive_masking", SCHEMA_BOOLEAN, .example = "false", .help = "also mask personal data"},
    {0},
};

static const struct schema_field cms_fields[] = {
    {"code", SCHEMA_STRING, .is_required = true, .max_len = LIMIT_CODE_BYTES,
     .help = "Python source", .example = "\"print(1 + 1)\""},
    {"session_id", SCHEMA_STRING, .is_required = true, .max_len = 256, .example = "\"s1\"",
     .help = "which data the helpers answer with; the program knows it as `session_id`"},
    {0},
};

static const struct schema_field command_fields[] = {
    {"command", SCHEMA_STRING, .is_required = true, .max_len = LIMIT_CODE_BYTES,
     .help = "what to run", .example = "\"print(1 + 1)\""},
    {0},
};

static const struct schema_field no_fields[] = {{0}};

const struct mcp_tool mcp_compat_execute_python = {
    .name = "execute_python",
    .title = "Run Python",
    .description = "Run Python in a fresh sandbox. Assign to `result` what should come back.",
    .input = marketplace_fields,
    .call = execute_python,
    .may_be_task = true,
};

const struct mcp_tool mcp_compat_execute_code = {
    .name = "execute_code",
    .title = "Run Python",
    .description = "Run Python in a fresh sandbox; print what should come back.",
    .input = cms_fields,
    .call = execute_code,
    .may_be_task = true,
};

const struct mcp_tool mcp_compat_python_command = {
    .name = "execute_python_code",
    .title = "Run Python",
    .description = "Run Python in a persistent, sealed kernel. Variables and files stay for later calls.",
    .input = command_fields,
    .call = python_command,
    .may_be_task = true,
};

const struct mcp_tool mcp_compat_bash_command = {
    .name = "execute_bash_code",
    .title = "Run Bash",
    .description = "Run shell commands in a persistent, sealed kernel that shares its files with Python's.",
    .input = command_fields,
    .call = bash_command,
    .may_be_task = true,
};

const struct mcp_tool mcp_compat_status = {
    .name = "get_kernel_status",
    .title = "Kernel status",
    .description = "The kernels and their states.",
    .input = no_fields,
    .hints = MCP_READ_ONLY,
    .call = show_kernels,
};
/* clang-format on */

const struct mcp_tool mcp_compat_navigate = {
    .name = "navigate_and_get_all_visible_text",
    .title = "Read a page",
    .description = "The text that a reader of the page sees. The host has to be granted.",
    .input = url_fields,
    .call = navigate,
    .hints = MCP_READ_ONLY,
};
