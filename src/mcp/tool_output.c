/* The rest of an output whose answer has only its beginning and end. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/spool.h"
#include "mcp/tools.h"

#define LINES_DEFAULT 200

/* For the words behind a page. */
#define WORDS_TOKENS 60

/* Bytes shown around the match in one line. */
#define MATCH_BEFORE ((size_t)100)
#define MATCH_SHOWN  ((size_t)400)

/* The fields as over HTTP, without their finer points. */
static json_t *query_of(const struct mcp_call *call)
{
    static const char *const names[] = {"stream", "line",   "offset",
                                        "limit",  "search", "ignore_case"};
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

static size_t room_of(const struct mcp_call *call)
{
    return call->max_tokens ? call->max_tokens - WORDS_TOKENS : SIZE_MAX;
}

static json_int_t integer(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

/* "12: …the line around the match…" */
static void add_match(const json_t *match, struct buf *text)
{
    const json_t *line = json_object_get(match, "text");
    const char *words = json_string_value(line);
    size_t len = json_string_length(line), start = (size_t)integer(match, "start"), end;

    start = start > MATCH_BEFORE && start < len && len > MATCH_SHOWN ? start - MATCH_BEFORE : 0;
    while (start && ((unsigned char)words[start] & 0xc0) == 0x80)
        start--;
    end = len - start > MATCH_SHOWN ? start + MATCH_SHOWN : len;
    while (end < len && ((unsigned char)words[end] & 0xc0) == 0x80)
        end++;
    (void)buf_printf(text, NULL, "%" JSON_INTEGER_FORMAT ": %s", integer(match, "line"),
                     start ? "…" : "");
    (void)buf_add(text, words + start, end - start, NULL);
    (void)buf_add_str(text, end < len ? "…\n" : "\n", NULL);
}

/* Matches that do not fit: the next answer continues there. */
static void add_matches(const struct mcp_call *call, const json_t *matches, struct buf *text,
                        json_int_t *ret_line)
{
    const json_t *match;
    size_t i;

    json_array_foreach(matches, i, match)
    {
        size_t before = text->len;

        add_match(match, text);
        if (i && mcp_tokens(buf_str(text), text->len, room_of(call)) > room_of(call)) {
            text->len = before;
            *ret_line = integer(match, "line");
            return;
        }
    }
    if (!json_array_size(matches))
        (void)buf_add_str(text, "(no line matches)\n", NULL);
}

/* The end of a page, in lines and bytes. */
struct end {
    json_int_t line;
    json_int_t offset; /* inside of a line; 0: none */
};

/* As many whole lines as fit, or a part of one. */
static void add_lines(const struct mcp_call *call, const json_t *page,
                      const struct spool_place *from, struct buf *out, struct end *end)
{
    const json_t *text = json_object_get(page, "text"), *next = json_object_get(page, "next");
    const char *words = json_string_value(text);
    size_t len = json_string_length(text), fits = mcp_tokens_fit(words, len, room_of(call), NULL);
    const char *newline = fits < len ? memrchr(words, '\n', fits) : NULL;

    if (newline)
        fits = (size_t)(newline - words) + 1;
    (void)buf_add(out, words, fits, NULL);
    if (fits < len) {
        end->line = (json_int_t)from->line;
        for (size_t i = 0; i < fits; i++)
            end->line += words[i] == '\n';
        end->offset = newline ? 0 : (json_int_t)(from->offset + fits);
    } else if (json_is_object(next)) {
        end->line = integer(next, "line");
        end->offset = len && words[len - 1] != '\n' ? integer(next, "offset") : 0;
    }
}

static void answer_page(struct mcp_call *call, const json_t *page, const struct spool_place *from)
{
    const json_t *matches = json_object_get(page, "matches"), *next = json_object_get(page, "next");
    cleanup(buf_done) struct buf out = BUF_OF(16 * MIB);
    struct end end = {0};

    if (matches) {
        end.line = json_is_object(next) ? integer(next, "line") : 0;
        add_matches(call, matches, &out, &end.line);
    } else {
        add_lines(call, page, from, &out, &end);
    }
    (void)buf_printf(&out, NULL,
                     "\n[output] %" JSON_INTEGER_FORMAT " lines, %" JSON_INTEGER_FORMAT
                     " bytes in all",
                     integer(page, "lines"), integer(page, "size"));
    if (end.offset)
        (void)buf_printf(&out, NULL,
                         "; go on with line %" JSON_INTEGER_FORMAT ", offset %" JSON_INTEGER_FORMAT,
                         end.line, end.offset);
    else if (end.line)
        (void)buf_printf(&out, NULL, "; go on with line %" JSON_INTEGER_FORMAT, end.line);
    mcp_call_answer(call, mcp_text_result(buf_str(&out), out.len, false));
}

/* --- where it is kept --- */

/* An answer that was cut, or the stream of a run. NULL: *err says why. */
static const struct spool *find_spool(const struct mcp_call *call, struct error *err)
{
    const char *handle = json_string_value(json_object_get(call->arguments, "handle"));
    const char *stream = json_string_value(json_object_get(call->arguments, "stream"));
    bool is_stderr = stream && strcmp(stream, "stderr") == 0;
    const struct spool *spool = mcp_saved_answer_find(call->server, call->owner, handle);
    struct job *job =
        spool ? NULL : jobs_find(mcp_host_of(call)->api->jobs, call->owner, handle, err);

    if (spool)
        return spool;
    if (!job) {
        error_hint(err, "`handle` is what a cut answer names; outputs are kept for a while");
        return NULL;
    }
    if (job_run(job)) {
        error_set(err, E_NOT_FOUND, "the run goes on");
        error_hint(err, "%s shows what it has printed", mcp_tool_wait.name);
        return NULL;
    }
    spool = job_spool(job, is_stderr);
    if (!spool) {
        error_set(err, E_NOT_FOUND, "the answer has all of this %s",
                  is_stderr ? "stderr" : "stdout");
        if (job_spool(job, !is_stderr))
            error_hint(err, "of `stream` \"%s\" there is more", is_stderr ? "stdout" : "stderr");
    }
    return spool;
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
    struct error err = {0};
    const struct spool *spool = find_spool(call, &err);
    json_t *page = spool ? api_spool_json(spool, s->query, &err) : NULL;
    struct spool_place from = {(uint64_t)integer(s->query, "offset"),
                               (uint64_t)integer(s->query, "line")};

    if (page && json_object_get(page, "matches") && keep_matches(s, page)) {
        json_decref(page);
        look_later(s);
        return;
    }
    if (page && !json_object_get(page, "matches") && !json_object_get(s->query, "offset"))
        (void)spool_find_line(spool, from.line, &from, NULL);
    free_searching(s);
    call->on_cancel = NULL;
    if (page)
        answer_page(call, page, &from);
    else
        mcp_call_fail(call, &err);
    json_decref(page);
}

static void read_output(struct mcp_call *call)
{
    struct searching *s = calloc(1, sizeof(*s));
    struct error err = {0};

    if (s && find_spool(call, &err)) {
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
    mcp_call_fail(call, &err);
}

/* clang-format off */
static const struct schema_field output_fields[] = {
    {"handle", SCHEMA_STRING, .is_required = true, .max_len = 64, .example = "\"run_…\"",
     .help = "of a cut answer"},
    {"stream", SCHEMA_STRING, .choices = "stdout,stderr", .example = "\"stdout\"",
     .help = "default stdout"},
    {"line", SCHEMA_INTEGER, .min = 1, .max = 1e15, .example = "1", .help = "first line"},
    {"offset", SCHEMA_INTEGER, .min = 0, .max = 1e15, .example = "8000", .help = "inside a long line"},
    {"limit", SCHEMA_INTEGER, .min = 1, .max = 1000, .example = "100",
     .help = "most lines (default 200)"},
    {"search", SCHEMA_STRING, .max_len = LIMIT_PATTERN_BYTES, .example = "\"error|warning\"",
     .help = "regular expression"},
    {"ignore_case", SCHEMA_BOOLEAN, .example = "true", .help = "of search"},
    {0},
};

const struct mcp_tool mcp_tool_output = {
    .name = "read_output",
    .title = "Read long output",
    .description = "Page through or search an answer that was cut.",
    .input = output_fields,
    .hints = MCP_READ_ONLY,
    .call = read_output,
};
/* clang-format on */
