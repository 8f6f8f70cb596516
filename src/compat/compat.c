#include "compat/compat.h"

#include "api/result.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/api.h"
#include "base/cleanup.h"
#include "base/hint.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/stream.h"
#include "base/utf8.h"

#define BODY_DEPTH 32

/* Bytes of an error with its hint. */
#define ERROR_BYTES (64 * KIB)

/* Bytes of the request quoted in an error. */
#define INPUT_MAX 256

/* A client that sends a thousand wrong fields is not helped by a thousand lines. */
#define MISTAKES_MAX 100

/* --- mistakes --- */

static json_t *shown(const json_t *input)
{
    if (!input || json_is_object(input) || json_is_array(input) ||
        (json_is_string(input) && json_string_length(input) > INPUT_MAX))
        return json_null();
    return json_incref((json_t *)input);
}

static void add(struct compat *c, json_t *loc, const char *type, const char *message,
                const json_t *input, json_t *context)
{
    json_t *mistake = json_pack("{s:s, s:o, s:s, s:o}", "type", type, "loc", loc, "msg", message,
                                "input", shown(input));

    if (context)
        (void)json_object_set_new(mistake, "ctx", context);
    if (json_array_size(c->detail) < MISTAKES_MAX)
        (void)json_array_append_new(c->detail, mistake);
    else
        json_decref(mistake);
}

static json_t *place(const char *field)
{
    size_t len = strnlen(field, INPUT_MAX);

    return json_pack("[s, s%]", "body", field, utf8_valid(field, len));
}

void compat_mistake(struct compat *c, const char *type, const char *field, const char *message,
                    const json_t *input)
{
    add(c, place(field), type, message, input, NULL);
}

static void out_of_range(struct compat *c, const char *field, bool is_above, double bound,
                         const json_t *input)
{
    char message[96];

    (void)snprintf(message, sizeof(message), "Input should be %s than or equal to %.15g",
                   is_above ? "less" : "greater", bound);
    add(c, place(field), is_above ? "less_than_equal" : "greater_than_equal", message, input,
        json_pack("{s:I}", is_above ? "le" : "ge", (json_int_t)bound));
}

void compat_at_most(struct compat *c, const char *field, double max)
{
    const json_t *value = json_object_get(c->body, field);

    if (json_array_size(c->detail) == 0 && value && json_number_value(value) > max)
        out_of_range(c, field, true, max, value);
}

/* --- values --- */

/* An integer, a number without a fraction, or either as text. NULL: a mistake, which is noted. */
static json_t *read_integer(struct compat *c, const char *field, const json_t *value)
{
    const char *text = json_string_value(value);
    double real = json_real_value(value);
    char *end;
    long long whole;

    if (json_is_integer(value) || json_is_boolean(value))
        return json_integer(json_is_boolean(value) ? json_is_true(value)
                                                   : json_integer_value(value));
    if (json_is_real(value) && real > -1e15 && real < 1e15 && (double)(long long)real == real)
        return json_integer((json_int_t)real);
    if (json_is_real(value)) {
        compat_mistake(c, "int_from_float", field,
                       "Input should be a valid integer, got a number with a fractional part",
                       value);
        return NULL;
    }
    if (!text) {
        compat_mistake(c, "int_type", field, "Input should be a valid integer", value);
        return NULL;
    }
    errno = 0;
    whole = strtoll(text, &end, 10);
    if (end != text && *end == '\0' && !errno)
        return json_integer(whole);
    compat_mistake(c, "int_parsing", field,
                   "Input should be a valid integer, unable to parse string as an integer", value);
    return NULL;
}

static json_t *read_boolean(struct compat *c, const char *field, const json_t *value)
{
    static const char *const words[] = {"false", "0", "off", "f", "no",  "n",
                                        "true",  "1", "on",  "t", "yes", "y"};
    const char *text = json_string_value(value);

    if (json_is_boolean(value))
        return json_boolean(json_is_true(value));
    if (json_is_number(value) && (json_number_value(value) == 0 || json_number_value(value) == 1))
        return json_boolean(json_number_value(value) != 0);
    for (size_t i = 0; text && i < ARRAY_SIZE(words); i++)
        if (strcasecmp(text, words[i]) == 0)
            return json_boolean(i >= ARRAY_SIZE(words) / 2);
    if (text || json_is_number(value))
        compat_mistake(c, "bool_parsing", field,
                       "Input should be a valid boolean, unable to interpret input", value);
    else
        compat_mistake(c, "bool_type", field, "Input should be a valid boolean", value);
    return NULL;
}

static json_t *read_number(struct compat *c, const char *field, json_t *value)
{
    const char *text = json_string_value(value);
    char *end;
    double number;

    if (json_is_number(value))
        return json_incref(value);
    number = text ? strtod(text, &end) : 0;
    if (text && end != text && *end == '\0' && isfinite(number))
        return json_real(number);
    compat_mistake(c, "float_type", field, "Input should be a valid number", value);
    return NULL;
}

/* Of values that are texts, or null. */
static bool is_map(json_t *object)
{
    const json_t *item;
    const char *name;

    json_object_foreach(object, name, item)
    {
        if (!json_is_string(item) && !json_is_null(item))
            return false;
    }
    return json_is_object(object);
}

static bool is_too_long(struct compat *c, const struct schema_field *f, const json_t *value)
{
    size_t count = json_is_array(value) ? json_array_size(value) : json_object_size(value);
    char message[96];

    if (!f->max_len || count <= f->max_len)
        return false;
    (void)snprintf(message, sizeof(message), "Input should have at most %zu items, not %zu",
                   f->max_len, count);
    compat_mistake(c, "too_long", f->name, message, NULL);
    return true;
}

static json_t *read_value(struct compat *c, const struct schema_field *f, json_t *value)
{
    switch (f->type) {
    case SCHEMA_INTEGER:
        return read_integer(c, f->name, value);
    case SCHEMA_NUMBER:
        return read_number(c, f->name, value);
    case SCHEMA_BOOLEAN:
        return read_boolean(c, f->name, value);
    case SCHEMA_STRINGS:
        if (json_are_strings(value))
            return is_too_long(c, f, value) ? NULL : json_incref(value);
        compat_mistake(c, "list_type", f->name, "Input should be a valid list of strings", value);
        return NULL;
    case SCHEMA_MAP:
        if (is_map(value))
            return is_too_long(c, f, value) ? NULL : json_incref(value);
        compat_mistake(c, "dict_type", f->name, "Input should be a valid dictionary of strings",
                       value);
        return NULL;
    default:
        if (json_is_string(value))
            return json_incref(value);
        compat_mistake(c, "string_type", f->name, "Input should be a valid string", value);
        return NULL;
    }
}

static void read_field(struct compat *c, const struct schema_field *f, json_t *value)
{
    json_t *taken;

    if (json_is_null(value) && !f->is_required)
        return;
    taken = read_value(c, f, value);
    if (!taken)
        return;
    if ((f->min != 0 || f->max != 0) && json_number_value(taken) < f->min)
        out_of_range(c, f->name, false, f->min, value);
    else if ((f->min != 0 || f->max != 0) && json_number_value(taken) > f->max)
        out_of_range(c, f->name, true, f->max, value);
    (void)json_object_set_new(c->body, f->name, taken);
}

/* --- the body --- */

json_t *compat_parse(const char *text, size_t len, json_t **ret_mistake)
{
    static const struct json_text_limits limits = {
        .bytes = API_BODY_BYTES, .depth = BODY_DEPTH, .allows_scalar = true};
    cleanup_error struct error err = {0};
    json_t *value = NULL;

    if (json_text_load(text, len, &limits, &value, &err) == 0)
        return value;
    *ret_mistake =
        json_text_string(err.message ? err.message : "", err.message ? strlen(err.message) : 0);
    return NULL;
}

static json_t *load(struct compat *c, struct request *request)
{
    json_t *value = NULL, *mistake = NULL;

    if (request->body.len == 0) {
        add(c, json_pack("[s]", "body"), "missing", "Field required", NULL, NULL);
        return NULL;
    }
    if (request->is_loaded) {
        value = request->json;
        mistake = request->mistake;
        request->json = request->mistake = NULL;
    } else {
        value = compat_parse(buf_str(&request->body), request->body.len, &mistake);
    }
    if (!value)
        add(c, json_pack("[s]", "body"), "json_invalid", "JSON decode error", NULL,
            json_pack("{s:o}", "error", mistake));
    if (value && !json_is_object(value)) {
        add(c, json_pack("[s]", "body"), "model_attributes_type",
            "Input should be a valid dictionary or object to extract fields from", value, NULL);
        json_decref(value);
        return NULL;
    }
    return value;
}

static bool is_known(const struct schema_field *fields, const char *name)
{
    for (; fields->name; fields++)
        if (strcmp(fields->name, name) == 0)
            return true;
    return false;
}

void compat_read(struct compat *c, struct request *request, const struct schema_field *fields,
                 bool forbids_others)
{
    json_t *value, *item;
    const char *name;

    *c = (struct compat){json_object(), json_array()};
    value = load(c, request);
    if (!value)
        return;
    for (const struct schema_field *f = fields; f->name; f++) {
        item = json_object_get(value, f->name);
        if (item)
            read_field(c, f, item);
        else if (f->is_required)
            compat_mistake(c, "missing", f->name, "Field required", NULL);
    }
    json_object_foreach(value, name, item)
    {
        if (forbids_others && !is_known(fields, name))
            compat_mistake(c, "extra_forbidden", name, "Extra inputs are not permitted", item);
    }
    json_decref(value);
}

void compat_done(struct compat *c)
{
    json_decref(c->body);
    json_decref(c->detail);
    *c = (struct compat){0};
}

bool compat_refuses(struct compat *c, struct request *request)
{
    if (c->body && c->detail && json_array_size(c->detail) == 0)
        return false;
    request_answer_json(request, 422, json_pack("{s:O}", "detail", c->detail));
    return true;
}

/* --- answers --- */

int compat_dump(json_t *body, struct buf *out, struct error *err)
{
    int r = body ? json_text_dump(body, JSON_TEXT_COMPACT, out, err) : error_memory(err);

    json_decref(body);
    return r == 0 ? buf_add_str(out, "\n", err) : r;
}

/* In one text, for clients that know no hints. */
static json_t *text_of(const struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(ERROR_BYTES);
    cleanup_free char *hint = hint_text(HINT_FOR_HTTP, err->hint);

    (void)buf_printf(&text, NULL, "%s%s%s", error_message(err), hint ? "; " : "", hint ? hint : "");
    return json_text_string(buf_str(&text), text.len);
}

static json_t *error_body(const struct compat_form *form, const struct error *err)
{
    return form->error(err->code, text_of(err));
}

static int write_answer(const struct run *run, void *user, struct buf *out, int *ret_status,
                        struct error *err)
{
    const struct compat_form *form = user;
    json_t *body = NULL;

    (void)ret_status;
    if (run->result.error.code == E_BUSY) {
        error_copy(err, &run->result.error);
        return -1;
    }
    if (run->result.error.code != E_NONE)
        body = error_body(form, &run->result.error);
    else if (form->result(run, &body, err) < 0)
        return -1;
    return compat_dump(body, out, err);
}

void compat_answer_error(struct request *request, const struct compat_form *form, struct error *err)
{
    if (err->code == E_BUSY) {
        request_answer_error(request, err);
        return;
    }
    request_answer_json(request, 200, error_body(form, err));
    error_done(err);
}

void compat_start(struct request *request, const struct compat_form *form,
                  const struct run_request *asked)
{
    const struct api *api = request->api;
    struct admission admission = api_admission(api, request->caller);
    struct job_order order;
    struct run *run = NULL;
    struct error err = {0};

    if (admit_request(&admission, asked, &run, &err) < 0) {
        compat_answer_error(request, form, &err);
        return;
    }
    order = job_order_of(request, run);
    order.form = (struct job_form){.write = write_answer, .user = (void *)form};
    (void)jobs_start_or_answer(api->jobs, request, &order);
}

double compat_seconds(double ms)
{
    double whole = (double)(int64_t)ms;

    return ms > 0 && ms < 1e12 ? (ms > whole ? whole + 1 : whole) / 1000 : 0;
}

static int add_line(struct buf *text, const char *line, struct error *err)
{
    if (text->len && text->data[text->len - 1] != '\n' && buf_add_str(text, "\n", err) < 0)
        return -1;
    return buf_add_str(text, line, err);
}

static int add_violations(const struct run *run, struct buf *text, struct error *err)
{
    for (size_t i = 0; i < run->result.n_violations; i++) {
        const struct run_violation *v = &run->result.violations[i];

        if (i && buf_add_str(text, "; ", err) < 0)
            return -1;
        if (v->line && buf_printf(text, err, "line %u: ", v->line) < 0)
            return -1;
        if (buf_add_str(text, v->message ? v->message : "", err) < 0)
            return -1;
    }
    return 0;
}

int compat_stderr(const struct run *run, struct buf *text, struct error *err)
{
    char line[96];

    if (run->result.status == RUN_REFUSED)
        return add_violations(run, text, err);
    if (run_stream_render(&run->result.err, text, err) < 0 ||
        result_add_denials(run, text, err) < 0)
        return -1;
    if (run->result.status == RUN_TIMEOUT) {
        (void)snprintf(line, sizeof(line), "Execution timed out after %g seconds",
                       run->terms.limits.timeout_ms / 1000.0);
        return add_line(text, line, err);
    }
    if (run->result.status == RUN_MEMORY_EXCEEDED)
        return add_line(text, "Memory limit exceeded", err);
    if (run->result.status == RUN_CANCELLED)
        return add_line(text, "Execution was cancelled", err);
    if (run->result.status == RUN_ERROR && !text->len) {
        if (run->result.exception.message)
            return buf_add_str(text, run->result.exception.message, err);
        return buf_printf(text, err, "Exited with code %d", run->result.exit_code);
    }
    return 0;
}

/* No counts: whoever asks has shown no token. */
void compat_show_health(struct request *request)
{
    const struct api *api = request->api;
    const char *stock = pool_is_ready(api->pool) ? "healthy" : "starting";

    request_answer_json(request, 200,
                        json_pack("{s:s, s:s, s:{s:{s:s}, s:{s:s}}}", "status", "healthy",
                                  "version", COMPAT_VERSION, "services", "session_manager",
                                  "status", "healthy", "kernel_pool", "status", stock));
}
