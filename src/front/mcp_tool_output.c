/* The rest of an output whose answer has only its beginning and end. */
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "front/mcp_tools.h"

#define LINES_DEFAULT 200

/* The same fields as over HTTP, without their finer points. */
static json_t *query_of(const struct mcp_call *call)
{
    static const char *const names[] = {"stream", "line", "limit", "search", "ignore_case"};
    json_t *query = json_object();

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (json_object_get(call->arguments, names[i]))
            (void)json_object_set(query, names[i], json_object_get(call->arguments, names[i]));
    if (!json_object_get(query, "limit"))
        (void)json_object_set_new(query, "limit", json_integer(LINES_DEFAULT));
    if (!json_object_get(query, "line") && !json_object_get(query, "search"))
        (void)json_object_set_new(query, "line", json_integer(1));
    return query;
}

static void add_matches(const json_t *matches, struct buf *text)
{
    const json_t *match;
    size_t i;

    json_array_foreach(matches, i, match)
    {
        (void)buf_printf(text, NULL, "%" JSON_INTEGER_FORMAT ": %s\n",
                         json_integer_value(json_object_get(match, "line")),
                         json_string_value(json_object_get(match, "text")));
    }
    if (!json_array_size(matches))
        (void)buf_add_str(text, "(no line matches)\n", NULL);
}

static void answer_page(struct mcp_call *call, json_t *page)
{
    const json_t *matches = json_object_get(page, "matches");
    const json_t *text = json_object_get(page, "text"), *next = json_object_get(page, "next");
    cleanup(buf_done) struct buf out = {0};

    buf_init(&out, 16 * MIB);
    if (matches)
        add_matches(matches, &out);
    else
        (void)buf_add(&out, json_string_value(text), json_string_length(text), NULL);
    (void)buf_printf(&out, NULL,
                     "\n[output] %" JSON_INTEGER_FORMAT " lines, %" JSON_INTEGER_FORMAT
                     " bytes in all",
                     json_integer_value(json_object_get(page, "lines")),
                     json_integer_value(json_object_get(page, "size")));
    if (json_is_object(next))
        (void)buf_printf(&out, NULL, "; go on with line %" JSON_INTEGER_FORMAT,
                         json_integer_value(json_object_get(next, "line")));
    json_decref(page);
    mcp_call_answer(call, mcp_text_result(buf_str(&out), out.len, false));
}

static void read_output(struct mcp_call *call)
{
    const char *handle = json_string_value(json_object_get(call->arguments, "handle"));
    struct error err = {0};
    struct job *job = jobs_find(mcp_host_of(call)->api->jobs, call->owner, handle, &err);
    json_t *query = query_of(call);
    json_t *page = job ? api_output_json(job, query, &err) : NULL;

    json_decref(query);
    if (page) {
        answer_page(call, page);
        return;
    }
    if (!job)
        error_hint(&err, "`handle` is the output_handle of a result; outputs are kept for a while");
    mcp_call_fail(call, &err);
}

/* clang-format off */
static const struct schema_field output_fields[] = {
    {"handle", SCHEMA_STRING, .is_required = true, .max_len = 64, .example = "\"run_…\"",
     .help = "output_handle of a result"},
    {"stream", SCHEMA_STRING, .choices = "stdout,stderr", .example = "\"stdout\"",
     .help = "stdout unless it says stderr"},
    {"line", SCHEMA_INTEGER, .min = 1, .max = 1e15, .example = "1", .help = "first line; 1 without it"},
    {"limit", SCHEMA_INTEGER, .min = 1, .max = 1000, .example = "100",
     .help = "most lines or matches; 200 without it"},
    {"search", SCHEMA_STRING, .max_len = LIMIT_PATTERN_BYTES, .example = "\"error|warning\"",
     .help = "a regular expression: only lines that match"},
    {"ignore_case", SCHEMA_BOOLEAN, .example = "true", .help = "of search"},
    {0},
};

const struct mcp_tool mcp_tool_output = {
    .name = "read_output",
    .title = "Read long output",
    .description = "Page through, or search, the whole output of a run whose result was cut.",
    .input = output_fields,
    .hints = MCP_READ_ONLY,
    .call = read_output,
};
/* clang-format on */
