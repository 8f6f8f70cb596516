/* The whole output of a run whose answer has only its beginning and end: by bytes, by lines, or the
 * lines that match. Every call does a bounded amount of work and says where to go on. */
#include <string.h>

#include "api/api.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/pattern.h"
#include "base/stream.h"
#include "base/utf8.h"

#define BYTES_DEFAULT   (64 * KIB)
#define LINES_DEFAULT   100
#define MATCHES_DEFAULT 100
#define MATCHES_MAX     1000

/* Bytes shown of one matching line. */
#define MATCH_SHOWN (4 * KIB)

const struct schema_field api_output_fields[] = {
    {"stream", SCHEMA_STRING, .choices = "stdout,stderr", .help = "stdout (default) or stderr"},
    {"offset", SCHEMA_INTEGER, .min = 0, .max = 1e15,
     .help = "the first byte, or where the previous answer ended"},
    {"line", SCHEMA_INTEGER, .min = 1, .max = 1e15,
     .help = "the first line, from 1; the answer then has whole lines"},
    {"limit", SCHEMA_INTEGER, .min = 1, .max = LIMIT_SPOOL_PAGE,
     .help = "at most so many bytes, lines or matches"},
    {"search", SCHEMA_STRING, .max_len = LIMIT_PATTERN_BYTES,
     .help = "a regular expression (RE2): only lines that match"},
    {"ignore_case", SCHEMA_BOOLEAN, .help = "letters match whatever their case"},
    {0},
};

static uint64_t number(const json_t *query, const char *name, uint64_t fallback)
{
    const json_t *value = json_object_get(query, name);

    return value ? (uint64_t)json_integer_value(value) : fallback;
}

static json_t *place_json(const struct spool_place *place)
{
    return json_pack("{s:I, s:I}", "offset", (json_int_t)place->offset, "line",
                     (json_int_t)place->line);
}

/* Bytes, without half a character at the end unless that is all. */
static json_t *read_bytes(const struct spool *spool, const json_t *query, struct error *err)
{
    uint64_t offset = number(query, "offset", 0);
    size_t limit = (size_t)number(query, "limit", BYTES_DEFAULT);
    cleanup_free char *data = malloc(limit);
    struct spool_info info;
    ssize_t n;

    if (!data) {
        error_memory(err);
        return NULL;
    }
    n = spool_read(spool, offset, data, limit, err);
    if (n < 0)
        return NULL;
    spool_info(spool, &info);
    for (ssize_t back = 1; back <= 3 && back < n; back++)
        if (utf8_decode(data + n - back, (size_t)back, NULL) == UTF8_PARTIAL) {
            n -= back;
            break;
        }
    offset += (uint64_t)n;
    return json_pack("{s:o, s:o}", "text", json_text_string(data, (size_t)n), "next",
                     offset < info.size && n > 0 ? json_pack("{s:I}", "offset", (json_int_t)offset)
                                                 : json_null());
}

/* The start: a line, a place from the previous answer, or both. */
static int find_place(const struct spool *spool, const json_t *query, struct spool_place *place,
                      struct error *err)
{
    uint64_t line = number(query, "line", 1);

    if (!json_object_get(query, "offset"))
        return spool_find_line(spool, line, place, err);
    *place = (struct spool_place){number(query, "offset", 0), line};
    return 0;
}

static json_t *read_lines(const struct spool *spool, const json_t *query, struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(LIMIT_SPOOL_PAGE + KIB);
    struct spool_place place;
    int r;

    if (find_place(spool, query, &place, err) < 0)
        return NULL;
    r = spool_read_lines(spool, &place, number(query, "limit", LINES_DEFAULT), LIMIT_SPOOL_PAGE,
                         &text, err);
    if (r < 0)
        return NULL;
    return json_pack("{s:o, s:o}", "text", json_text_string(buf_str(&text), text.len), "next",
                     r ? place_json(&place) : json_null());
}

struct matches {
    json_t *list;
    size_t limit;
};

static bool on_match(void *arg, const struct spool_match *match)
{
    struct matches *matches = arg;
    size_t len = match->len < MATCH_SHOWN ? match->len : MATCH_SHOWN;

    (void)json_array_append_new(
        matches->list,
        json_pack("{s:I, s:I, s:o, s:I, s:I, s:b}", "line", (json_int_t)match->place.line, "offset",
                  (json_int_t)match->place.offset, "text", json_text_string(match->text, len),
                  "start", (json_int_t)match->start, "end", (json_int_t)match->end, "is_piece",
                  (int)(match->is_piece || len < match->len)));
    return json_array_size(matches->list) < matches->limit;
}

static json_t *search(const struct spool *spool, const json_t *query, struct error *err)
{
    const json_t *text = json_object_get(query, "search");
    uint64_t limit = number(query, "limit", MATCHES_DEFAULT);
    struct matches matches = {json_array(), (size_t)(limit < MATCHES_MAX ? limit : MATCHES_MAX)};
    struct pattern *pattern = NULL;
    struct spool_place place;
    int r = -1;

    if (find_place(spool, query, &place, err) == 0 &&
        pattern_new(json_string_value(text), json_string_length(text),
                    json_is_true(json_object_get(query, "ignore_case")), &pattern, err) == 0)
        r = spool_search(spool, pattern, &place, on_match, &matches, err);
    pattern_free(pattern);
    if (r < 0) {
        json_decref(matches.list);
        return NULL;
    }
    return json_pack("{s:o, s:o}", "matches", matches.list, "next",
                     r ? place_json(&place) : json_null());
}

json_t *api_spool_json(const struct spool *spool, const json_t *query, struct error *err)
{
    struct error why = {0};
    struct spool_info info;
    json_t *object;

    if (json_object_get(query, "search"))
        object = search(spool, query, &why);
    else if (json_object_get(query, "line"))
        object = read_lines(spool, query, &why);
    else
        object = read_bytes(spool, query, &why);
    if (!object) {
        if (why.code == E_NONE)
            error_memory(&why);
        error_move(err, &why);
        return NULL;
    }
    spool_info(spool, &info);
    (void)json_object_set_new(object, "size", json_integer((json_int_t)info.size));
    (void)json_object_set_new(object, "lines", json_integer((json_int_t)info.lines));
    (void)json_object_set_new(object, "dropped", json_integer((json_int_t)info.dropped));
    return object;
}

json_t *api_output_json(const struct job *job, const json_t *query, struct error *err)
{
    const char *stream = json_string_value(json_object_get(query, "stream"));
    const struct spool *spool = job_spool(job, stream && strcmp(stream, "stderr") == 0);

    if (spool)
        return api_spool_json(spool, query, err);
    error_set(err, E_NOT_FOUND, "no more of this output is kept than the answer contains");
    error_hint(err, "use the `output_handle` of a result");
    return NULL;
}

static void show_output(struct request *request)
{
    struct api *api = request->api;
    struct error err = {0};
    const struct job *job = jobs_find(api->jobs, request->owner, request->params[0], &err);
    json_t *object = job ? api_output_json(job, request->query, &err) : NULL;

    if (object)
        request_answer_json(request, 200, object);
    else
        request_answer_error(request, &err);
}

const struct route api_output_routes[] = {
    {"GET", "/v1/runs/{run}/output", show_output, .query = api_output_fields, .answers = "Output",
     .status = 200, .tag = "runs",
     .summary = "the whole output of a run, by bytes, by lines, or the lines that match"},
    {0},
};
