/* Output and displays of a program inside, while it runs and at its end. The machine masks
 * it; here it is masked again, with all that this server knows. */
#include <stdlib.h>
#include <string.h>

#include "api/result_read.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/stream.h"
#include "engine/masking.h"
#include "vm/inside_internal.h"

/* Of output in one event: a piece of a pipe, each byte as six. */
#define TEXT_EVENT_MAX ((size_t)1 << 20)
#define WORD_EVENT_MAX ((size_t)64 << 10)

/* The arguments of a call, of which the wire carries a mebibyte, each byte as six. */
#define CALL_EVENT_MAX ((size_t)8 << 20)

/* Of a result, without output, values, displays and files. */
#define RESULT_REST_MAX ((size_t)8 << 20)

/* A larger one is not looked at before the end, where there is time. */
#define DISPLAY_LIVE_MAX ((size_t)256 << 10)

/* As text, of any event; bytes that are no text are shown as three. */
#define SHOWN_MAX 3

/* Between two reports of progress that are looked at. */
#define PROGRESS_NS ((uint64_t)10000000)

static const struct json_text_limits limits = {
    .bytes = INSIDE_ANSWER_MAX, .depth = 210, .allows_nul = true};

void inside_live_done(struct inside_live *live)
{
    mask_stream_free(&live->masks[0]);
    mask_stream_free(&live->masks[1]);
}

/* --- output --- */

static void give_out(struct run *run, bool is_stderr, struct clean_text text)
{
    struct run_stream *kept = is_stderr ? &run->result.err : &run->result.out;
    struct run_event event = {.kind = is_stderr ? RUN_EVENT_STDERR : RUN_EVENT_STDOUT,
                              .offset = kept->total,
                              .data = clean_data(text),
                              .len = clean_len(text)};

    if (!clean_len(text))
        return;
    (void)run_stream_add(kept, text, NULL);
    if (run->on_event)
        run->on_event(run, &event);
}

static void take_text(struct run *run, struct inside_live *live, bool is_stderr, const char *text,
                      size_t len)
{
    live->taken[is_stderr] += len;
    if (len)
        give_out(run, is_stderr,
                 mask_stream(mask_context_of(run), &live->masks[is_stderr], text, len));
}

/* No secret goes on behind this. */
static void end_text(struct run *run, struct inside_live *live, bool is_stderr)
{
    give_out(run, is_stderr, mask_stream_end(mask_context_of(run), &live->masks[is_stderr]));
    mask_stream_free(&live->masks[is_stderr]);
}

/* The mark in a text whose middle is missing (run_stream_render()): where it is, or the end. What
 * is before it has at most `head` bytes, less a character that was cut. */
static size_t find_mark(const char *text, size_t len, size_t head, size_t *ret_len,
                        uint64_t *ret_dropped)
{
    static const char before[] = "\n… [", behind[] = " bytes dropped] …\n";
    size_t from = head > 3 ? head - 3 : 0;
    const char *at = from < len ? memmem(text + from, len - from, before, strlen(before)) : NULL;
    const char *number = at ? at + strlen(before) : NULL;
    char *end = NULL;
    unsigned long long dropped = at ? strtoull(number, &end, 10) : 0;

    *ret_len = 0;
    if (!at || end == number || dropped > INT64_MAX ||
        (size_t)(text + len - end) < strlen(behind) || memcmp(end, behind, strlen(behind)) != 0)
        return len;
    *ret_len = (size_t)(end - at) + strlen(behind);
    *ret_dropped = dropped;
    return (size_t)(at - text);
}

/* The part of a text, of which `at` bytes came before, that has not been taken. */
static void take_rest(struct run *run, struct inside_live *live, bool is_stderr, uint64_t at,
                      const char *text, size_t len)
{
    uint64_t known = live->taken[is_stderr] > at ? live->taken[is_stderr] - at : 0;
    size_t skip = known < len ? (size_t)known : len;

    take_text(run, live, is_stderr, text + skip, len - skip);
}

static void take_stream(struct run *run, struct inside_live *live, const json_t *object,
                        bool is_stderr)
{
    const char *key = is_stderr ? "stderr" : "stdout";
    const json_t *json = json_object_get(object, key);
    const char *text = json_is_string(json) ? json_string_value(json) : "";
    size_t len = json_string_length(json), head = len, mark = 0;
    uint64_t limit = run->terms.limits.output_bytes, dropped = 0, behind;

    if (json_is_true(json_object_get(json_object_get(object, "truncated"), key)))
        head = find_mark(text, len, (size_t)(limit - limit / 2), &mark, &dropped);
    take_rest(run, live, is_stderr, 0, text, head);
    behind = head + dropped;
    if (mark && live->taken[is_stderr] < behind) {
        end_text(run, live, is_stderr);
        run_stream_skip(is_stderr ? &run->result.err : &run->result.out,
                        behind - live->taken[is_stderr]);
        live->taken[is_stderr] = behind;
    }
    if (mark)
        take_rest(run, live, is_stderr, behind, text + head + mark, len - head - mark);
    end_text(run, live, is_stderr);
}

void inside_take_streams(struct run *run, struct inside_live *live, const json_t *object)
{
    take_stream(run, live, object, false);
    take_stream(run, live, object, true);
}

static int take_output(struct run *run, struct inside_live *live, const json_t *event,
                       bool is_stderr, struct error *err)
{
    const json_t *text = json_object_get(event, "text");
    uint64_t most = SHOWN_MAX * run->terms.limits.output_bytes + TEXT_EVENT_MAX;

    if (!json_is_string(text))
        return error_set(err, E_PROTOCOL, "output of the virtual machine is not text");
    if (live->taken[is_stderr] + json_string_length(text) > most)
        return error_set(err, E_PROTOCOL,
                         "the virtual machine sent more output than the run may have");
    take_text(run, live, is_stderr, json_string_value(text), json_string_length(text));
    return 0;
}

/* --- displays --- */

static void mask_display(struct run *run, struct run_display *display)
{
    for (size_t n = 0; n < display->n_forms; n++) {
        struct run_form *form = &display->forms[n];
        struct span data = {form->data, form->len};
        char *copy = NULL;

        if (!mask_form(mask_context_of(run), (struct span){form->mime, strlen(form->mime)}, &data,
                       &copy)) {
            data.len = 0; /* no memory for it */
        } else if (!copy) {
            continue;
        }
        free(form->data);
        form->data = copy ? copy : strdup("");
        form->len = form->data ? data.len : 0;
    }
}

static void add_displays(struct run *run, const json_t *forms)
{
    size_t from = run->result.n_displays;

    result_read_displays(forms, run);
    for (size_t i = from; i < run->result.n_displays; i++)
        mask_display(run, &run->result.displays[i]);
    for (size_t i = from; run->on_event && i < run->result.n_displays; i++)
        run->on_event(run, &(struct run_event){.kind = RUN_EVENT_DISPLAY,
                                               .offset = i,
                                               .display = &run->result.displays[i]});
}

static json_int_t bundle_at(const json_t *forms, size_t i)
{
    return json_integer_value(json_object_get(json_array_get(forms, i), "bundle"));
}

/* The forms of the list that did not come while the program ran begin here: an event is a display,
 * and in the list its forms have one number. */
static size_t first_new(const struct inside_live *live, const json_t *forms)
{
    size_t at = 0, count = json_array_size(forms);

    for (size_t i = 0; i < live->n_displays && at < count; i++) {
        json_int_t number = bundle_at(forms, at);

        while (at < count && bundle_at(forms, at) == number)
            at++;
    }
    return at;
}

void inside_take_displays(struct run *run, const struct inside_live *live, const json_t *forms)
{
    cleanup_json json_t *rest = json_array();

    for (size_t i = first_new(live, forms); i < json_array_size(forms); i++)
        if (json_array_append(rest, json_array_get(forms, i)) < 0)
            return; /* no memory for them */
    add_displays(run, rest);
}

/* --- progress --- */

static void take_progress(struct run *run, const json_t *event)
{
    json_int_t done = json_integer_value(json_object_get(event, "done"));
    json_int_t total = json_integer_value(json_object_get(event, "total"));
    const json_t *text = json_object_get(event, "text");
    struct clean_text clean = mask_text(
        mask_context_of(run), (struct span){json_is_string(text) ? json_string_value(text) : "",
                                            json_string_length(text)});

    if (run->on_event && done >= 0 && total >= 0)
        run->on_event(run, &(struct run_event){.kind = RUN_EVENT_PROGRESS,
                                               .done = (uint64_t)done,
                                               .total = (uint64_t)total,
                                               .data = clean_data(clean),
                                               .len = clean_len(clean)});
}

/* --- events --- */

enum kind { START, STDOUT, STDERR, DISPLAY, PROGRESS, OTHER, LAST };

static const struct {
    const char *name;
    enum kind kind;
    size_t most;
} kinds[] = {
    {"start", START, WORD_EVENT_MAX},       {"stdout", STDOUT, TEXT_EVENT_MAX},
    {"stderr", STDERR, TEXT_EVENT_MAX},     {"display", DISPLAY, 2 * LIMIT_DISPLAY_BYTES},
    {"progress", PROGRESS, WORD_EVENT_MAX}, {"result", LAST, INSIDE_ANSWER_MAX},
    {"error", LAST, WORD_EVENT_MAX},        {"call", OTHER, CALL_EVENT_MAX},
};

/* The largest result that the run can have, as JSON: bytes of output as six each, and other bytes
 * as two. */
static size_t result_limit(const struct run *run)
{
    size_t most = 2 * (LIMIT_DISPLAY_BYTES + 2 * LIMIT_RESULT_BYTES) + RESULT_REST_MAX;
    uint64_t output = run->terms.limits.output_bytes;

    if (run->program.collect)
        most += 2 * LIMIT_COLLECTED_BYTES;
    return output < (INSIDE_ANSWER_MAX - most) / 12 ? most + (size_t)(12 * output)
                                                    : INSIDE_ANSWER_MAX;
}

size_t inside_event_limit(const struct run *run, const char *name)
{
    if (strcmp(name, "result") == 0)
        return result_limit(run);
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (strcmp(kinds[i].name, name) == 0)
            return kinds[i].most;
    return 0;
}

static enum kind kind_of(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (strcmp(kinds[i].name, name) == 0)
            return kinds[i].kind;
    return OTHER;
}

/* False: it is not worth a look now. */
static bool is_due(struct inside_live *live, enum kind kind, size_t len)
{
    uint64_t now = loop_now_ns();

    if (kind == DISPLAY) {
        live->has_late_displays |= len > DISPLAY_LIVE_MAX;
        return !live->has_late_displays;
    }
    if (kind == PROGRESS && now - live->progress_ns < PROGRESS_NS)
        return false;
    if (kind == PROGRESS)
        live->progress_ns = now;
    return kind != START;
}

int inside_take_event(struct run *run, struct inside_live *live, const char *name, const char *data,
                      size_t len, struct error *err)
{
    cleanup_json json_t *event = NULL;
    enum kind kind = kind_of(name);

    if (!is_due(live, kind, len))
        return 0;
    if (json_text_load(data, len, &limits, &event, err) < 0)
        return error_wrap(err, "an event of the virtual machine");
    if (kind == STDOUT || kind == STDERR)
        return take_output(run, live, event, kind == STDERR, err);
    if (kind == PROGRESS)
        take_progress(run, event);
    if (kind == DISPLAY && json_array_size(json_object_get(event, "displays"))) {
        live->n_displays++;
        add_displays(run, json_object_get(event, "displays"));
    }
    return 0;
}
