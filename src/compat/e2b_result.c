/* Results of cells, as E2B's clients read them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/display_form.h"
#include "base/hex.h"
#include "base/json.h"
#include "base/utf8.h"
#include "compat/e2b_internal.h"
#include "compat/e2b_table.h"

#define LINE_MAX_BYTES (4 * (size_t)LIMIT_DISPLAY_BYTES)

/* "\u" and four digits, once or twice. */
#define ESCAPE_MAX 12

static size_t put_unit(char *to, uint32_t unit)
{
    const unsigned char bytes[] = {(unsigned char)(unit >> 8), (unsigned char)unit};

    to[0] = '\\';
    to[1] = 'u';
    hex_write(bytes, sizeof(bytes), to + 2);
    return 6;
}

static size_t put_escape(char *to, uint32_t c)
{
    size_t n;

    if (c < 0x10000)
        return put_unit(to, c);
    n = put_unit(to, 0xd800 + ((c - 0x10000) >> 10));
    return n + put_unit(to + n, 0xdc00 + ((c - 0x10000) & 0x3ff));
}

/* Adds UTF-8 with all that is not ASCII as escapes. */
static int add_ascii(struct buf *out, struct span text, struct error *err)
{
    while (text.len) {
        char escape[ESCAPE_MAX + 1];
        size_t n = 0;
        uint32_t c = 0;
        int len;

        while (n < text.len && (unsigned char)text.data[n] < 0x80)
            n++;
        if (n && buf_add(out, text.data, n, err) < 0)
            return -1;
        text = (struct span){text.data + n, text.len - n};
        if (!text.len)
            break;
        len = utf8_decode(text.data, text.len, &c);
        if (len <= 0)
            return error_set(err, E_INTERNAL, "the line is not UTF-8");
        if (buf_add(out, escape, put_escape(escape, c), err) < 0)
            return -1;
        text = (struct span){text.data + len, text.len - (size_t)len};
    }
    return 0;
}

/* A client reads each piece of the stream by itself, and loses a character that is cut in two:
 * whatever is not ASCII is escaped. */
int e2b_line_add(struct buf *out, json_t *value, struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(LINE_MAX_BYTES);
    int r = value ? json_text_dump(value, JSON_TEXT_COMPACT, &text, err) : error_memory(err);

    json_decref(value);
    if (r < 0 || add_ascii(out, (struct span){buf_str(&text), text.len}, err) < 0)
        return -1;
    return buf_add_str(out, "\n", err);
}

/* --- charts --- */

/* The unit is what stands in brackets at the end of a label. */
static json_t *unit_json(const char *label)
{
    size_t len = strlen(label);
    char last = (char)(len ? label[len - 1] : '\0');
    const char *from = last == ')' ? strrchr(label, '(') : last == ']' ? strrchr(label, '[') : NULL;

    return from ? json_stringn(from + 1, len - (size_t)(from - label) - 2) : json_null();
}

static json_t *points_json(const json_t *series)
{
    const json_t *x = json_object_get(series, "x"), *y = json_object_get(series, "y");
    json_t *points = json_array();

    for (size_t i = 0; i < json_array_size(x) && i < json_array_size(y); i++)
        (void)json_array_append_new(
            points, json_pack("[O, O]", json_array_get(x, i), json_array_get(y, i)));
    return points;
}

static json_t *label_json(const json_t *series, const char *usual, size_t index)
{
    const char *label = json_get_text(series, "label");
    char text[32];

    if (*label)
        return json_text_string(label, strlen(label));
    (void)snprintf(text, sizeof(text), "%s %zu", usual, index);
    return json_string(text);
}

static void add_line(json_t *elements, const json_t *series, size_t index)
{
    (void)json_array_append_new(elements,
                                json_pack("{s:o, s:o}", "label", label_json(series, "Line", index),
                                          "points", points_json(series)));
}

/* Clients take the name of a bar for a text: a year, the middle of a bin. */
static json_t *name_json(const json_t *at)
{
    char text[32];

    if (!json_is_number(at))
        return json_incref((json_t *)at);
    (void)snprintf(text, sizeof(text), "%.10g", json_number_value(at));
    return json_string(text);
}

static void add_bars(json_t *elements, const json_t *series, size_t index)
{
    const json_t *x = json_object_get(series, "x"), *y = json_object_get(series, "y");

    for (size_t i = 0; i < json_array_size(x) && i < json_array_size(y); i++)
        (void)json_array_append_new(elements, json_pack("{s:o, s:o, s:O}", "label",
                                                        name_json(json_array_get(x, i)), "group",
                                                        label_json(series, "Group", index), "value",
                                                        json_array_get(y, i)));
}

static void add_slice(json_t *elements, const json_t *series, size_t index)
{
    double fraction = json_number_value(json_object_get(series, "fraction"));

    (void)index;
    (void)json_array_append_new(elements, json_pack("{s:s, s:f, s:i}", "label",
                                                    json_get_text(series, "label"), "angle",
                                                    360 * fraction, "radius", 1));
}

static void add_box(json_t *elements, const json_t *series, size_t index)
{
    static const char *const names[][2] = {
        {"min", "min"},           {"q1", "first_quartile"}, {"median", "median"},
        {"q3", "third_quartile"}, {"max", "max"},           {"outliers", "outliers"},
    };
    json_t *box = json_pack("{s:o}", "label", label_json(series, "Box", index));

    for (size_t i = 0; box && i < ARRAY_SIZE(names); i++) {
        json_t *value = json_object_get(series, names[i][0]);

        if (value)
            json_set(box, names[i][1], json_incref(value));
    }
    (void)json_array_append_new(elements, box);
}

static const struct kind {
    const char *ours, *theirs;
    void (*add)(json_t *elements, const json_t *series, size_t index);
    bool has_axes, has_ticks;
} kinds[] = {
    {"line", "line", add_line, true, true},
    {"scatter", "scatter", add_line, true, true},
    {"bar", "bar", add_bars, true, false},
    {"pie", "pie", add_slice, false, false},
    {"box", "box_and_whisker", add_box, true, false},
};

static const struct kind *kind_of(const json_t *chart)
{
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (strcmp(json_get_text(chart, "type"), kinds[i].ours) == 0)
            return &kinds[i];
    return NULL;
}

static json_t *title_json(const json_t *chart, const char *name)
{
    const char *title = json_get_text(chart, name);

    return *title ? json_text_string(title, strlen(title)) : json_null();
}

static void add_axes(json_t *value, const json_t *chart)
{
    const char *x = json_get_text(chart, "x_label"), *y = json_get_text(chart, "y_label");

    json_set(value, "x_label", *x ? json_text_string(x, strlen(x)) : json_null());
    json_set(value, "y_label", *y ? json_text_string(y, strlen(y)) : json_null());
    json_set(value, "x_unit", unit_json(x));
    json_set(value, "y_unit", unit_json(y));
}

/* Clients rely on all of them. */
static void add_ticks(json_t *value, const json_t *chart)
{
    static const char *const lists[] = {"x_ticks", "x_tick_labels", "y_ticks", "y_tick_labels"};
    static const char *const scales[] = {"x_scale", "y_scale"};

    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        json_t *list = json_object_get(chart, lists[i]);

        json_set(value, lists[i], json_is_array(list) ? json_incref(list) : json_array());
    }
    for (size_t i = 0; i < ARRAY_SIZE(scales); i++) {
        json_t *scale = json_object_get(chart, scales[i]);

        json_set(value, scales[i],
                 json_is_string(scale) ? json_incref(scale) : json_string("linear"));
    }
}

static json_t *chart_json(const json_t *chart)
{
    const struct kind *kind = kind_of(chart);
    json_t *elements = json_array();
    const json_t *series;
    json_t *value = json_pack("{s:s, s:o, s:o}", "type", kind ? kind->theirs : "unknown", "title",
                              title_json(chart, "title"), "elements", elements);
    size_t i;

    if (!value || !kind)
        return value;
    json_array_foreach(json_object_get(chart, "series"), i, series)
    {
        kind->add(elements, series, i);
    }
    if (kind->has_axes)
        add_axes(value, chart);
    if (kind->has_ticks)
        add_ticks(value, chart);
    return value;
}

/* Several charts of one picture are parts of one. */
static json_t *charts_json(const json_t *charts)
{
    json_t *list, *value;
    const json_t *chart;
    size_t i;

    if (json_array_size(charts) == 1)
        return chart_json(json_array_get(charts, 0));
    list = json_array();
    value = json_pack("{s:s, s:o, s:o}", "type", "superchart", "title",
                      title_json(json_array_get(charts, 0), "figure_title"), "elements", list);
    json_array_foreach(charts, i, chart)
    {
        (void)json_array_append_new(list, chart_json(chart));
    }
    return value;
}

/* --- results --- */

#define CHART "application/vnd.belljar.chart+json"
#define TABLE "application/vnd.belljar.table+json"

static const char *field_of(const char *mime)
{
    static const char *const fields[][2] = {
        {"text/plain", "text"},        {"text/html", "html"},
        {"text/markdown", "markdown"}, {"image/svg+xml", "svg"},
        {"image/png", "png"},          {"image/jpeg", "jpeg"},
        {"application/pdf", "pdf"},    {"text/latex", "latex"},
        {"application/json", "json"},  {"application/javascript", "javascript"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        if (strcmp(fields[i][0], mime) == 0)
            return fields[i][1];
    return NULL;
}

/* The values of a table, from two of its forms. */
static void add_table(json_t *value, const struct run_display *display)
{
    const struct run_form *csv = run_display_form(display, "text/csv");
    const struct run_form *about = run_display_form(display, TABLE);
    const char *encoding;
    cleanup_json json_t *columns = csv && about ? form_data(about, &encoding) : NULL;
    json_t *table = columns ? e2b_table_json((struct span){csv->data, csv->len}, columns) : NULL;

    if (table)
        json_set(value, "data", table);
}

json_t *e2b_display_json(const struct run_display *display)
{
    json_t *value = json_pack("{s:s, s:b}", "type", "result", "is_main_result", 0);
    json_t *extra = json_object();

    for (size_t i = 0; value && i < display->n_forms; i++) {
        const struct run_form *form = &display->forms[i];
        const char *field = field_of(form->mime), *encoding;
        json_t *data = form_data(form, &encoding);

        if (strcmp(form->mime, CHART) == 0 && json_is_array(data)) {
            if (json_array_size(data))
                json_set(value, "chart", charts_json(data));
            json_decref(data);
        } else if (field && !json_object_get(value, field)) {
            json_set(value, field, data);
        } else if (!field) {
            json_set(extra, form->mime, data);
        } else {
            json_decref(data); /* a smaller picture of the same */
        }
    }
    add_table(value, display);
    if (json_object_size(extra))
        json_set(value, "extra", extra);
    else
        json_decref(extra);
    return value;
}

/* The last expression; NULL: there is none. A text is shown without its quotes. */
json_t *e2b_value_json(const struct run *run)
{
    static const struct json_text_limits limits = {
        .bytes = LIMIT_DISPLAY_BYTES, .depth = 200, .allows_nul = true, .allows_scalar = true};
    const struct run_result *result = &run->result;
    cleanup_json json_t *plain = NULL;
    json_t *value;
    const char *text = result->value_text;

    if (result->value_json)
        (void)json_text_load(result->value_json, strlen(result->value_json), &limits, &plain, NULL);
    if (!text || json_is_null(plain) || strcmp(text, "None") == 0)
        return NULL;
    value = json_pack("{s:s, s:b, s:o}", "type", "result", "is_main_result", 1, "text",
                      json_is_string(plain) ? json_incref(plain)
                                            : json_text_string(text, strlen(text)));
    if (value && (json_is_object(plain) || json_is_array(plain)))
        json_set(value, "json", json_incref(plain));
    return value;
}

static json_t *error_of(const char *name, const char *value, const char *traceback)
{
    return json_pack("{s:s, s:o, s:o, s:o}", "type", "error", "name",
                     json_text_string(name, strlen(name)), "value",
                     json_text_string(value, strlen(value)), "traceback",
                     json_text_string(traceback, strlen(traceback)));
}

static json_t *refusal_json(const struct run_result *result)
{
    const struct run_violation *v = result->n_violations ? result->violations : NULL;
    bool is_syntax = v && v->rule && strcmp(v->rule, "syntax") == 0;

    return error_of(is_syntax ? "SyntaxError" : "PermissionError",
                    v && v->message ? v->message : "the program was refused", "");
}

/* NULL: the cell ended well. */
json_t *e2b_error_json(const struct run *run)
{
    const struct run_result *result = &run->result;
    const struct run_exception *e = &result->exception;
    char text[96];

    if (result->error.code != E_NONE)
        return error_of("UnexpectedEndOfExecution", error_message(&result->error), "");
    switch (result->status) {
    case RUN_SUCCESS:
        return NULL;
    case RUN_REFUSED:
        return refusal_json(result);
    case RUN_TIMEOUT:
        (void)snprintf(text, sizeof(text), "the cell was stopped after %g seconds",
                       run->terms.limits.timeout_ms / 1000.0);
        return error_of("TimeoutError", text, "");
    case RUN_MEMORY_EXCEEDED:
        return error_of("MemoryError", "the memory limit was exceeded", "");
    case RUN_CANCELLED:
        return error_of("KeyboardInterrupt", "", "");
    default:
        break;
    }
    if (e->name)
        return error_of(e->name, e->message ? e->message : "", e->traceback ? e->traceback : "");
    if (result->state == RUN_STATE_LOST)
        return error_of("UnexpectedEndOfExecution",
                        "Connection to the execution was closed before the execution was finished",
                        "");
    if (run->program.language == RUN_PYTHON) {
        (void)snprintf(text, sizeof(text), "%d", result->exit_code);
        return error_of("SystemExit", text, "");
    }
    (void)snprintf(text, sizeof(text), "exit status %d", result->exit_code);
    return error_of("ExitStatus", text, "");
}
