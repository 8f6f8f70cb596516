#include "api/result.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/attachments.h"
#include "api/display.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/layer.h"
#include "base/stream.h"
#include "base/terminal_text.h"
#include "sandbox/files.h"
#include "wire/message.h"

/* Head, tail and marker of a stream at its largest. */
#define RENDER_MAX (LIMIT_OUTPUT_BYTES_MAX + 4 * KIB)

/* Of the value of `result`, for a person; the JSON has it whole. */
#define RESULT_SHOWN ((size_t)2000)

/* A value the program made is walked through again when it is written. */
static const struct json_text_limits value_limits = {
    .bytes = LIMIT_RESULT_BYTES, .depth = 200, .allows_nul = true, .allows_scalar = true};

/* ---- JSON ---- */

static json_t *number_or_null(uint32_t number)
{
    return number ? json_integer(number) : json_null();
}

/* Microseconds are as fine as it was measured. Rounded by hand: libm would have to be loaded for
 * this alone. */
static json_t *milliseconds(double ms)
{
    return json_real(ms > 0 && ms < 1e12 ? (double)(int64_t)(ms * 1000 + 0.5) / 1000 : 0);
}

static json_t *stream_json(const struct run_stream *stream)
{
    cleanup(buf_done) struct buf text = BUF_OF(RENDER_MAX);

    if (run_stream_render(stream, &text, NULL) < 0)
        return NULL;
    return json_text_string(buf_str(&text), text.len);
}

void result_add_output(const struct run *run, json_t *object)
{
    (void)json_object_set_new(object, "stdout", stream_json(&run->result.out));
    (void)json_object_set_new(object, "stderr", stream_json(&run->result.err));
    (void)json_object_set_new(object, "stdout_bytes",
                              json_integer((json_int_t)run->result.out.total));
    (void)json_object_set_new(object, "stderr_bytes",
                              json_integer((json_int_t)run->result.err.total));
}

/* The JSON form comes from the program and is believed only as far as it can be read; the text
 * always stands. */
static json_t *value_json(const struct run *run)
{
    json_t *value = NULL;

    if (!run->result.value_text)
        return json_null();
    if (!run->result.value_json ||
        json_text_load(run->result.value_json, strlen(run->result.value_json), &value_limits,
                       &value, NULL) < 0)
        value = json_null();
    return json_pack("{s:o, s:o}", "text", json_string_or_null(run->result.value_text), "json",
                     value);
}

/* The keeper of the whole output finds it by the run. */
static json_t *handle_json(const struct run *run)
{
    return run->result.out.spool || run->result.err.spool ? json_string(run->id) : json_null();
}

static json_t *hint_json(const char *hint, enum hint_reader reader)
{
    cleanup_free char *text = hint_text(reader, hint);

    return json_string_or_null(text);
}

static json_t *exception_json(const struct run_exception *e, enum hint_reader reader)
{
    json_t *object;

    if (!e->name)
        return json_null();
    object = json_pack("{s:o, s:o, s:o, s:o, s:o, s:s}", "name", json_string_or_null(e->name),
                       "message", json_string_or_null(e->message ? e->message : ""), "traceback",
                       json_string_or_null(e->traceback), "line", number_or_null(e->line), "hint",
                       hint_json(e->hint, reader), "said_by", e->is_ours ? "belljar" : "program");
    if (object && e->column)
        (void)json_object_set_new(object, "column", json_integer(e->column));
    return object;
}

static json_t *violations_json(const struct run *run, enum hint_reader reader)
{
    json_t *list = json_array();

    for (size_t i = 0; list && i < run->result.n_violations; i++) {
        const struct run_violation *v = &run->result.violations[i];
        json_t *item =
            json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "rule", json_string_or_null(v->rule),
                      "name", json_string_or_null(v->name), "line", number_or_null(v->line),
                      "column", number_or_null(v->column), "message",
                      json_string_or_null(v->message), "hint", hint_json(v->hint, reader));

        if (json_array_append_new(list, item) < 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/* The program's bytes as text, each file by another name: what is no text is escaped. */
static json_t *path_json(const char *path)
{
    cleanup(buf_done) struct buf shown = BUF_OF(4 * PATH_MAX + 1);

    if (files_path_escape(path, &shown, NULL) < 0)
        return NULL;
    return json_text_string(buf_str(&shown), shown.len);
}

static json_t *file_json(const struct run_file *file)
{
    if (file->change == RUN_FILE_GONE)
        return path_json(file->path);
    return json_pack("{s:o, s:I}", "path", path_json(file->path), "size", (json_int_t)file->size);
}

/* Files that were deleted, or files that exist. */
static json_t *files_json(const struct run *run, bool are_gone)
{
    json_t *list = json_array();

    for (size_t i = 0; list && i < run->result.n_files; i++) {
        if ((run->result.files[i].change == RUN_FILE_GONE) != are_gone)
            continue;
        if (json_array_append_new(list, file_json(&run->result.files[i])) < 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *layers_json(uint32_t layers)
{
    json_t *list = json_array();

    for (unsigned i = 0; list && i < RUN_LAYER_COUNT; i++) {
        if (!(layers & 1u << i))
            continue;
        if (json_array_append_new(list, json_string(run_layer_name(i))) < 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *usage_json(const struct run_usage *usage)
{
    return json_pack("{s:o, s:o, s:I, s:o, s:I}", "wall_ms", milliseconds(usage->wall_ms), "cpu_ms",
                     milliseconds(usage->cpu_ms), "memory_peak_bytes",
                     (json_int_t)usage->memory_peak_bytes, "start_ms",
                     milliseconds(usage->start_ms), "processes_peak",
                     (json_int_t)usage->processes_peak);
}

static json_t *masked_json(const struct run_masked *masked)
{
    json_t *kinds = json_array();

    for (size_t i = 0; kinds && i < masked->n_kinds; i++)
        if (json_array_append_new(kinds, json_string(masked->kinds[i])) < 0) {
            json_decref(kinds);
            return NULL;
        }
    return json_pack("{s:I, s:o}", "count", (json_int_t)masked->count, "kinds", kinds);
}

static json_t *refusal_json(const struct run_refusal *refusal)
{
    return json_pack("{s:s, s:i, s:s, s:o}", "host", refusal->host, "port", (int)refusal->port,
                     "why", refusal->why, "grant", json_string_or_null(refusal->grant));
}

/* Null where no host is granted. */
static json_t *net_json(const struct run_traffic *traffic)
{
    json_t *refused;

    if (!traffic)
        return json_null();
    refused = json_array();
    for (size_t i = 0; refused && i < traffic->n_refused; i++)
        if (json_array_append_new(refused, refusal_json(&traffic->refused[i])) < 0) {
            json_decref(refused);
            return NULL;
        }
    return json_pack("{s:I, s:I, s:I, s:o, s:I}", "connections", (json_int_t)traffic->connections,
                     "sent_bytes", (json_int_t)traffic->sent, "received_bytes",
                     (json_int_t)traffic->received, "refused", refused, "refused_more",
                     (json_int_t)traffic->refused_more);
}

static json_t *denials_json(const struct run *run, enum hint_reader reader)
{
    json_t *list = json_array();

    for (size_t i = 0; list && i < run->result.n_denials; i++) {
        const struct run_denial *d = &run->result.denials[i];

        if (json_array_append_new(list, json_pack("{s:s, s:s, s:o, s:I}", "what", d->what, "layer",
                                                  d->layer, "hint", hint_json(d->hint, reader),
                                                  "count", (json_int_t)d->count)) < 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/* Nothing ran, so nothing exited. */
static json_t *exit_json(const struct run *run)
{
    if (run->result.status == RUN_REFUSED)
        return json_null();
    return json_integer(run->result.exit_code);
}

/* Linux decides who runs first. Where no cgroup counts, what lives shorter than our look at it is
 * not seen. */
static json_t *determinism_json(const struct run *run)
{
    if (!run->terms.has_seed)
        return json_null();
    return json_pack("{s:I, s:s, s:o}", "seed", (json_int_t)run->terms.seed, "fingerprint",
                     run->result.fingerprint, "caveats",
                     run->result.usage.processes_peak > 1
                         ? json_pack("[s]", "threads or processes ran side by side")
                         : json_array());
}

static json_t *changes_json(const struct run_changes *c)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:b}", "created", (json_int_t)c->created, "changed",
                     (json_int_t)c->changed, "removed", (json_int_t)c->removed, "renamed",
                     (json_int_t)c->renamed, "undo", (int)c->has_undo);
}

/* Of a failure without an exception; what was lost with the kernel is one. */
static const char *hint_of(const struct run *run)
{
    bool is_lost = run->result.state == RUN_STATE_LOST && !run->result.exception.name;

    return run->result.hint ? run->result.hint : is_lost ? run->result.exception.hint : NULL;
}

/* Fields that are there only where somebody wanted them. */
static int add_asked_for(const struct run *run, json_t *object)
{
    if (run->result.changes.is_known &&
        json_object_set_new(object, "changes", changes_json(&run->result.changes)) < 0)
        return -1;
    if (run->result.interrupt_ms > 0 &&
        json_object_set_new(object, "interrupt",
                            json_pack("{s:f, s:i}", "waited_ms", run->result.interrupt_ms,
                                      "grace_ms", (int)run->result.interrupt_grace_ms)) < 0)
        return -1;
    if (run->program.collect &&
        (json_object_set_new(object, "collected", attachments_json(run)) < 0 ||
         json_object_set_new(object, "collected_truncated",
                             json_boolean(run->result.has_more_collected)) < 0))
        return -1;
    if (run->result.receipt &&
        json_object_set_new(object, "receipt",
                            json_text_own(run->result.receipt, strlen(run->result.receipt))) < 0)
        return -1;
    return 0;
}

static const char *isolation_of(const struct run *run)
{
    if (run->result.layers & RUN_LAYER_MACHINE)
        return run->result.is_emulated ? "emulator" : "machine";
    return run->terms.is_on_host ? "process" : "namespaces";
}

int result_json(const struct run *run, enum hint_reader reader, json_t **ret_object,
                struct error *err)
{
    json_t *object = json_object();
    const struct {
        const char *key;
        json_t *value;
    } fields[] = {
        /* clang-format off */
        {"id",              json_string(run->id)},
        {"status",          json_string(run_status_name(run->result.status))},
        {"exit_code",       exit_json(run)},
        {"stdout",          stream_json(&run->result.out)},
        {"stderr",          stream_json(&run->result.err)},
        {"truncated",       json_pack("{s:b, s:b}", "stdout", run->result.out.dropped > 0,
                                      "stderr", run->result.err.dropped > 0)},
        {"output_handle",   handle_json(run)},
        {"result",          value_json(run)},
        {"displays",        display_json(run)},
        {"error",           exception_json(&run->result.exception, reader)},
        {"violations",      violations_json(run, reader)},
        {"usage",           usage_json(&run->result.usage)},
        {"masked",          masked_json(&run->result.masked)},
        {"files",           files_json(run, false)},
        {"session_id",      json_string_or_null(*run->origin.session ? run->origin.session : NULL)},
        {"session_state",   json_string_or_null(run_state_name(run->result.state))},
        {"correlation_id",  json_null()},
        {"profile",         json_string_or_null(run->terms.profile)},
        {"isolation",       json_string(isolation_of(run))},
        {"layers",          layers_json(run->result.layers)},
        {"deterministic",   determinism_json(run)},
        {"violations_more", json_integer(run->result.violations_more)},
        {"displays_more",   json_integer(run->result.displays_more)},
        {"files_gone",      files_json(run, true)},
        {"files_truncated", json_boolean(run->result.has_more_files)},
        {"signal",          number_or_null((uint32_t)run->result.signal)},
        {"net",             net_json(run->result.traffic)},
        {"denials",         denials_json(run, reader)},
        {"denials_more",    json_integer((json_int_t)run->result.denials_more)},
        {"hint",            hint_json(hint_of(run), reader)},
        /* clang-format on */
    };
    bool is_whole = object != NULL;

    /* json_object_set_new() takes the value, also when it fails; a NULL value is a failure. */
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        if (json_object_set_new(object, fields[i].key, fields[i].value) < 0)
            is_whole = false;
    if (!is_whole || add_asked_for(run, object) < 0) {
        json_decref(object);
        return error_memory(err);
    }
    *ret_object = object;
    return 0;
}

/* Starts a new line where the text does not end with one. */
static int end_line(struct buf *text, struct error *err)
{
    if (text->len && text->data[text->len - 1] != '\n')
        return buf_add_str(text, "\n", err);
    return 0;
}

int result_add_denials(const struct run *run, struct buf *text, struct error *err)
{
    for (size_t i = 0; i < run->result.n_denials; i++) {
        const struct run_denial *d = &run->result.denials[i];
        cleanup_free char *hint = hint_text(HINT_FOR_HTTP, d->hint);

        if (run_denial_is_status(run, d))
            continue;
        if (end_line(text, err) < 0 ||
            buf_printf(text, err, "belljar: %s: %s [%s]%s%s\n", run_denial_word(d), d->what,
                       d->layer, hint ? "; " : "", hint ? hint : "") < 0)
            return -1;
    }
    return 0;
}

/* ---- for people ---- */

struct human {
    const struct run *run;
    bool has_color;
    struct buf *out;
    struct error *err;
};

#define RED    "\033[31m"
#define GREEN  "\033[32m"
#define YELLOW "\033[33m"
#define DIM    "\033[2m"
#define PLAIN  "\033[0m"

static int paint(const struct human *h, const char *color, const char *text)
{
    return buf_printf(h->out, h->err, "%s%s%s", h->has_color ? color : "", text,
                      h->has_color ? PLAIN : "");
}

/* The program's words in one line, in visible form. */
static int say(const struct human *h, const char *text)
{
    return terminal_line(text ? text : "", text ? strlen(text) : 0, h->out, h->err);
}

static int add_hint(const struct human *h, const char *indent, const char *hint)
{
    cleanup_free char *text = hint_text(HINT_FOR_CLI, hint);

    if (!text)
        return 0;
    if (buf_add_str(h->out, indent, h->err) < 0 || paint(h, YELLOW, "hint: ") < 0 ||
        say(h, text) < 0)
        return -1;
    return buf_add_str(h->out, "\n", h->err);
}

static int add_violation(const struct human *h, const struct run_violation *v)
{
    if (v->line && buf_printf(h->out, h->err, "line %u", v->line) < 0)
        return -1;
    if (v->line && v->column && buf_printf(h->out, h->err, ", column %u", v->column) < 0)
        return -1;
    if (v->line && buf_add_str(h->out, ": ", h->err) < 0)
        return -1;
    if (say(h, v->message) < 0 || buf_add_str(h->out, "\n", h->err) < 0)
        return -1;
    return add_hint(h, "  ", v->hint);
}

static bool shows(const struct run_stream *stream, const char *text)
{
    cleanup(buf_done) struct buf seen = BUF_OF(RENDER_MAX);

    return run_stream_render(stream, &seen, NULL) == 0 && seen.len &&
           memmem(seen.data, seen.len, text, strlen(text)) != NULL;
}

/* Python writes an uncaught traceback to stderr itself; where that has happened it is not said
 * twice. A copy of a session with one stream has two. */
static bool has_shown(const struct run *run, const char *text)
{
    return shows(&run->result.err, text) ||
           (run->terms.has_one_stream && shows(&run->result.out, text));
}

static int add_exception(const struct human *h, const struct run_exception *e)
{
    struct terminal terminal;

    if (!e->name)
        return 0;
    if (e->traceback && *e->traceback) {
        if (has_shown(h->run, e->traceback))
            return add_hint(h, "", e->hint);
        terminal_begin(&terminal, false);
        if (terminal_feed(&terminal, e->traceback, strlen(e->traceback), h->out, h->err) < 0 ||
            terminal_finish(&terminal, h->out, h->err) < 0)
            return -1;
        if (e->traceback[strlen(e->traceback) - 1] != '\n' && buf_add_str(h->out, "\n", h->err) < 0)
            return -1;
        return add_hint(h, "", e->hint);
    }
    if (say(h, e->name) < 0 || buf_add_str(h->out, ": ", h->err) < 0 || say(h, e->message) < 0)
        return -1;
    if (e->line && buf_printf(h->out, h->err, " (line %u)", e->line) < 0)
        return -1;
    return buf_add_str(h->out, "\n", h->err) < 0 ? -1 : add_hint(h, "", e->hint);
}

static int add_value(const struct human *h)
{
    const char *text = h->run->result.value_text;
    size_t len = text ? strlen(text) : 0;

    /* With auto_print it already stands in the output. */
    if (!text || h->run->program.auto_print)
        return 0;
    if (paint(h, DIM, "result: ") < 0 ||
        terminal_line(text, len < RESULT_SHOWN ? len : RESULT_SHOWN, h->out, h->err) < 0)
        return -1;
    return buf_add_str(h->out, len > RESULT_SHOWN ? "…\n" : "\n", h->err);
}

static int add_status(const struct human *h)
{
    const struct run *run = h->run;
    double ms = run->result.usage.wall_ms;
    const char *color = run->result.status == RUN_SUCCESS ? GREEN : RED;

    if (buf_add_str(h->out, "belljar: ", h->err) < 0 ||
        paint(h, color, run_status_name(run->result.status)) < 0)
        return -1;
    if (run->result.status == RUN_REFUSED)
        return buf_printf(h->out, h->err, " · nothing was run · %zu %s\n",
                          run->result.n_violations + run->result.violations_more,
                          run->result.n_violations + run->result.violations_more == 1
                              ? "violation"
                              : "violations");
    if (run->result.status == RUN_ERROR && run->result.signal &&
        buf_printf(h->out, h->err, " · signal %d (%s)", run->result.signal,
                   sigdescr_np(run->result.signal) ? sigdescr_np(run->result.signal) : "unknown") <
            0)
        return -1;
    if (run->result.status == RUN_ERROR && !run->result.signal &&
        buf_printf(h->out, h->err, " · exit %d", run->result.exit_code) < 0)
        return -1;
    return buf_printf(
        h->out, h->err, ms < 1000 ? " · %.1f ms · %.1f MB\n" : " · %.2f s · %.1f MB\n",
        ms < 1000 ? ms : ms / 1000, (double)run->result.usage.memory_peak_bytes / (double)MIB);
}

static int add_denial(const struct human *h, const struct run_denial *denial)
{
    if (buf_printf(h->out, h->err, "belljar: %s: ", run_denial_word(denial)) < 0 ||
        say(h, denial->what) < 0 || buf_add_str(h->out, " [", h->err) < 0 ||
        say(h, denial->layer) < 0 || buf_add_str(h->out, "]", h->err) < 0)
        return -1;
    if (denial->count > 1 &&
        buf_printf(h->out, h->err, ", %llu times", (unsigned long long)denial->count) < 0)
        return -1;
    return buf_add_str(h->out, "\n", h->err) < 0 ? -1 : add_hint(h, "", denial->hint);
}

static int add_denials(const struct human *h)
{
    for (size_t i = 0; i < h->run->result.n_denials; i++)
        if (add_denial(h, &h->run->result.denials[i]) < 0)
            return -1;
    return h->run->result.denials_more ? buf_printf(h->out, h->err, "belljar: denied: %llu more\n",
                                                    (unsigned long long)h->run->result.denials_more)
                                       : 0;
}

int result_brief(const struct run *run, bool has_color, struct buf *out, struct error *err)
{
    const struct human h = {run, has_color, out, err};

    if ((run->result.exception.name && add_hint(&h, "", run->result.exception.hint) < 0) ||
        add_hint(&h, "", run->result.hint) < 0)
        return -1;
    return add_denials(&h);
}

static int add_notes(const struct human *h)
{
    const struct run *run = h->run;

    for (size_t i = 0; i < run->result.n_violations; i++)
        if (add_violation(h, &run->result.violations[i]) < 0)
            return -1;
    if (run->result.violations_more &&
        buf_printf(h->out, h->err, "and %u more\n", run->result.violations_more) < 0)
        return -1;
    if (add_exception(h, &run->result.exception) < 0 || add_hint(h, "", run->result.hint) < 0 ||
        add_value(h) < 0)
        return -1;
    return add_denials(h);
}

int result_human(const struct run *run, bool has_color, struct buf *out, struct error *err)
{
    const struct human h = {run, has_color, out, err};

    return add_notes(&h) < 0 ? -1 : add_status(&h);
}

/* The fate of earlier variables, unless an exception has reported it. */
static int add_state(const struct human *h)
{
    const struct run *run = h->run;

    if (run->result.state == RUN_STATE_FRESH)
        return add_hint(h, "",
                        "the kernel had ended before this cell: earlier variables are lost, "
                        "files are not");
    return run->result.state == RUN_STATE_LOST && !run->result.exception.name
               ? add_hint(h, "", run->result.exception.hint)
               : 0;
}

int result_cell(const struct run *run, bool has_color, struct buf *out, struct error *err)
{
    const struct human h = {run, has_color, out, err};

    if (add_notes(&h) < 0 || add_state(&h) < 0)
        return -1;
    if (run->result.status == RUN_SUCCESS ||
        (run->result.status == RUN_ERROR && run->result.exception.name))
        return 0;
    return add_status(&h);
}
