/* The rest of an output whose answer has only its beginning and end. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "mcp/tools.h"

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

static void answer_page(struct mcp_call *call, const json_t *page)
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
    mcp_call_answer(call, mcp_text_result(buf_str(&out), out.len, false));
}

/* A search looks at so much at a time, so that others get their turn: this is one that goes on
 * until it has what was asked for. */
struct searching {
    struct mcp_call *call;
    struct loop_work work;
    json_t *query;
    json_t *matches; /* so far; NULL: none yet */
};

static void free_searching(struct searching *s)
{
    loop_work_cancel(&s->work);
    json_decref(s->query);
    json_decref(s->matches);
    free(s);
}

static void on_cancel(struct mcp_call *call)
{
    free_searching(call->user);
}

/* True: there is more to look at, and room for what is found. */
static bool keep_matches(struct searching *s, json_t *page)
{
    json_t *found = json_object_get(page, "matches"), *next = json_object_get(page, "next");
    json_int_t limit = json_integer_value(json_object_get(s->query, "limit"));

    if (s->matches)
        (void)json_array_extend(s->matches, found);
    else
        s->matches = json_incref(found);
    (void)json_object_set(page, "matches", s->matches);
    limit -= (json_int_t)json_array_size(found);
    if (!json_is_object(next) || limit <= 0)
        return false;
    (void)json_object_update(s->query, next);
    (void)json_object_set_new(s->query, "limit", json_integer(limit));
    return true;
}

static void look(void *arg);

static void look_later(struct searching *s)
{
    struct caller *caller = s->call->caller;

    loop_line_post(mcp_host_of(s->call)->api->loop, caller ? &caller->line : NULL, &s->work, look,
                   s);
}

static void look(void *arg)
{
    struct searching *s = arg;
    struct mcp_call *call = s->call;
    const char *handle = json_string_value(json_object_get(call->arguments, "handle"));
    struct error err = {0};
    struct job *job = jobs_find(mcp_host_of(call)->api->jobs, call->owner, handle, &err);
    json_t *page = job ? api_output_json(job, s->query, &err) : NULL;

    if (page && json_object_get(page, "matches") && keep_matches(s, page)) {
        json_decref(page);
        look_later(s);
        return;
    }
    free_searching(s);
    call->on_cancel = NULL;
    if (page)
        answer_page(call, page);
    else
        mcp_call_fail(call, &err);
    json_decref(page);
}

static void read_output(struct mcp_call *call)
{
    const char *handle = json_string_value(json_object_get(call->arguments, "handle"));
    struct api *api = mcp_host_of(call)->api;
    struct searching *s = calloc(1, sizeof(*s));
    struct error err = {0};

    if (s && jobs_find(api->jobs, call->owner, handle, &err)) {
        *s = (struct searching){.call = call, .query = query_of(call)};
        call->user = s;
        call->on_cancel = on_cancel;
        if (s->query) {
            look_later(s);
            return;
        }
        call->on_cancel = NULL;
        free_searching(s);
        s = NULL;
    }
    free(s);
    if (err.code == E_NONE)
        error_memory(&err);
    else
        error_hint(&err, "`handle` is the output_handle of a result; outputs are kept for a while");
    mcp_call_fail(call, &err);
}

/* clang-format off */
static const struct schema_field output_fields[] = {
    {"handle", SCHEMA_STRING, .is_required = true, .max_len = 64, .example = "\"run_…\"",
     .help = "output_handle of a result"},
    {"stream", SCHEMA_STRING, .choices = "stdout,stderr", .example = "\"stdout\"",
     .help = "stdout (default) or stderr"},
    {"line", SCHEMA_INTEGER, .min = 1, .max = 1e15, .example = "1", .help = "first line (default 1)"},
    {"limit", SCHEMA_INTEGER, .min = 1, .max = 1000, .example = "100",
     .help = "most lines or matches (default 200)"},
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
