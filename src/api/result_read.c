#include "api/result_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "engine/display.h"

static char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text ? strdup(text) : NULL;
}

static bool has_text(const json_t *object, const char *name)
{
    return json_is_string(json_object_get(object, name));
}

static uint64_t count_of(const json_t *object, const char *name)
{
    double number = json_number_value(json_object_get(object, name));

    return number > 0 && number < 9e15 ? (uint64_t)number : 0;
}

static int read_status(const json_t *object, struct run *run)
{
    const char *word = json_string_value(json_object_get(object, "status"));

    for (int i = RUN_SUCCESS; word && i <= RUN_CANCELLED; i++)
        if (strcmp(word, run_status_name((enum run_status)i)) == 0) {
            run->result.status = (enum run_status)i;
            return 0;
        }
    return -1;
}

static void read_exception(const json_t *error, struct run_exception *e)
{
    if (!json_is_object(error))
        return;
    e->name = text_of(error, "name");
    e->message = text_of(error, "message");
    e->traceback = text_of(error, "traceback");
    e->hint = text_of(error, "hint");
    e->line = (uint32_t)count_of(error, "line");
    e->column = (uint32_t)count_of(error, "column");
    e->is_ours = strcmp(json_string_value(json_object_get(error, "said_by"))
                            ? json_string_value(json_object_get(error, "said_by"))
                            : "",
                        "belljar") == 0;
}

static int read_violations(const json_t *list, struct run *run, struct error *err)
{
    const json_t *one;
    size_t i;

    if (json_array_size(list) == 0)
        return 0;
    run->result.violations = calloc(json_array_size(list), sizeof(*run->result.violations));
    if (!run->result.violations)
        return error_memory(err);
    json_array_foreach(list, i, one)
    {
        run->result.violations[run->result.n_violations++] = (struct run_violation){
            .rule = text_of(one, "rule"),
            .name = text_of(one, "name"),
            .line = (uint32_t)count_of(one, "line"),
            .column = (uint32_t)count_of(one, "column"),
            .message = text_of(one, "message"),
            .hint = text_of(one, "hint"),
        };
    }
    return 0;
}

static void read_usage(const json_t *usage, struct run_usage *ret_usage)
{
    *ret_usage = (struct run_usage){
        .wall_ms = json_number_value(json_object_get(usage, "wall_ms")),
        .start_ms = json_number_value(json_object_get(usage, "start_ms")),
        .cpu_ms = json_number_value(json_object_get(usage, "cpu_ms")),
        .memory_peak_bytes = count_of(usage, "memory_peak_bytes"),
        .processes_peak = (uint32_t)count_of(usage, "processes_peak"),
    };
}

static int read_net(const json_t *traffic, struct run *run, struct error *err)
{
    const json_t *list = json_object_get(traffic, "refused"), *one;
    size_t i;

    if (!json_is_object(traffic))
        return 0;
    run->result.traffic = calloc(1, sizeof(*run->result.traffic));
    if (!run->result.traffic)
        return error_memory(err);
    run->result.traffic->connections = count_of(traffic, "connections");
    run->result.traffic->sent = count_of(traffic, "sent_bytes");
    run->result.traffic->received = count_of(traffic, "received_bytes");
    run->result.traffic->refused_more = count_of(traffic, "refused_more");
    json_array_foreach(list, i, one)
    {
        struct run_refusal *refusal = &run->result.traffic->refused[run->result.traffic->n_refused];

        if (run->result.traffic->n_refused == LIMIT_NET_REFUSED || !has_text(one, "host") ||
            !has_text(one, "why"))
            break;
        run->result.traffic->n_refused++;
        *refusal = (struct run_refusal){.host = text_of(one, "host"),
                                        .port = (uint16_t)count_of(one, "port"),
                                        .why = text_of(one, "why"),
                                        .grant = text_of(one, "grant")};
        if (!refusal->host || !refusal->why)
            return error_memory(err);
    }
    return 0;
}

/* Reads the denials from a server's answer, within our own bounds. */
static int read_denials(const json_t *list, struct run *run, struct error *err)
{
    const json_t *one;
    size_t i;

    json_array_foreach(list, i, one)
    {
        const char *hint = json_string_value(json_object_get(one, "hint"));
        size_t before = run->result.n_denials;

        if (!has_text(one, "what") || !has_text(one, "layer"))
            continue;
        if (run_deny(run, json_string_value(json_object_get(one, "what")),
                     json_string_value(json_object_get(one, "layer")), hint) < 0)
            return error_memory(err);
        if (run->result.n_denials > before && count_of(one, "count"))
            run->result.denials[before].count = count_of(one, "count");
    }
    return 0;
}

static void read_changes(const json_t *changes, struct run_changes *c)
{
    if (!json_is_object(changes))
        return;
    *c = (struct run_changes){
        .is_known = true,
        .has_undo = json_is_true(json_object_get(changes, "undo")),
        .created = count_of(changes, "created"),
        .changed = count_of(changes, "changed"),
        .removed = count_of(changes, "removed"),
        .renamed = count_of(changes, "renamed"),
    };
}

int result_read(const json_t *object, struct run *run, struct error *err)
{
    const json_t *exit_code = json_object_get(object, "exit_code");

    if (run->result.violations || run->result.traffic) /* a second one would not fit into them */
        return error_set(err, E_PROTOCOL, "the server sent two results");
    if (read_status(object, run) < 0)
        return error_set(err, E_PROTOCOL, "the server's answer is not a result");
    run->result.exit_code = (int)(json_integer_value(exit_code) & 0xff);
    run->result.signal = (int)(count_of(object, "signal") & 0x7f);
    run->result.value_text = text_of(json_object_get(object, "result"), "text");
    run->result.violations_more = (uint32_t)count_of(object, "violations_more");
    run->result.displays_more = (uint32_t)count_of(object, "displays_more");
    run->result.hint = text_of(object, "hint");
    read_exception(json_object_get(object, "error"), &run->result.exception);
    read_usage(json_object_get(object, "usage"), &run->result.usage);
    read_changes(json_object_get(object, "changes"), &run->result.changes);
    if (read_net(json_object_get(object, "net"), run, err) < 0 ||
        read_denials(json_object_get(object, "denials"), run, err) < 0)
        return -1;
    run->result.denials_more += count_of(object, "denials_more");
    return read_violations(json_object_get(object, "violations"), run, err);
}

/* --- displays --- */

/* The parts of one display, until it is copied into the run. */
struct display_parts {
    struct wire_display display;
    struct buf texts[WIRE_FORMS_MAX];
    char metadata[64];
};

static void display_parts_done(struct display_parts *bundle)
{
    for (size_t i = 0; i < WIRE_FORMS_MAX; i++)
        buf_done(&bundle->texts[i]);
}

static int read_data(const json_t *form, struct buf *text)
{
    const json_t *data = json_object_get(form, "data");
    const char *encoding = json_string_value(json_object_get(form, "encoding"));

    buf_init(text, LIMIT_DISPLAY_BYTES);
    if (!json_is_string(data))
        return data ? json_text_dump(data, JSON_TEXT_COMPACT, text, NULL) : -1;
    if (encoding && strcmp(encoding, "base64") == 0)
        return base64_decode(text, json_string_value(data), json_string_length(data), NULL);
    return buf_add(text, json_string_value(data), json_string_length(data), NULL);
}

static void add_form(struct display_parts *bundle, const json_t *form)
{
    const json_t *mime = json_object_get(form, "mime");
    uint32_t n = bundle->display.count;
    unsigned width = (unsigned)count_of(form, "width"), height = (unsigned)count_of(form, "height");

    if (n == WIRE_FORMS_MAX || !json_is_string(mime) ||
        !display_is_mime((struct span){json_string_value(mime), json_string_length(mime)}) ||
        read_data(form, &bundle->texts[n]) < 0)
        return;
    bundle->display.forms[n].mime =
        (struct span){json_string_value(mime), json_string_length(mime)};
    bundle->display.forms[n].data = (struct span){buf_str(&bundle->texts[n]), bundle->texts[n].len};
    bundle->display.count++;
    if (width && height) {
        int len = snprintf(bundle->metadata, sizeof(bundle->metadata),
                           "{\"width\":%u,\"height\":%u}", width, height);

        bundle->display.metadata = (struct span){bundle->metadata, (size_t)len};
    }
}

void result_read_displays(const json_t *forms, struct run *run)
{
    size_t i = 0, count = json_array_size(forms);

    while (i < count) {
        cleanup(display_parts_done) struct display_parts bundle = {0};
        uint64_t number = count_of(json_array_get(forms, i), "bundle");

        for (; i < count && count_of(json_array_get(forms, i), "bundle") == number; i++)
            add_form(&bundle, json_array_get(forms, i));
        if (bundle.display.count)
            (void)run_add_display(run, &bundle.display);
    }
}
