/* A finished run as a model should see it: what matters first, short, and where to read on. */
#include <stdlib.h>
#include <string.h>

#include "admit/admit.h"
#include "api/display.h"
#include "api/result.h"
#include "base/base64.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/stream.h"
#include "engine/masking.h"
#include "mcp/internal.h"
#include "mcp/tools.h"

/* Of everything in one text, whose parts have limits of their own. What is too long for an answer
 * is cut when it is given (bound.c). */
#define TEXT_MAX (LIMIT_OUTPUT_BYTES_MAX * 2 + 2 * LIMIT_DISPLAY_BYTES + 4 * LIMIT_RESULT_BYTES)

/* Of an exception's message in the line that says what happened; stderr has it in full. */
#define MESSAGE_SHOWN ((size_t)600)

/* Of its name. */
#define NAME_SHOWN 120

/* The part of an answer, 1/2, that one long stream may have; alone it leaves room for some words.
 */
#define STREAM_PART  2
#define STREAM_WORDS 150

/* Places named of one mistake. */
#define PLACES_SHOWN 12

/* Files named in one line, and linked. */
#define FILES_SHOWN  20
#define FILES_LINKED 5

/* --- the text --- */

static int add_lines(struct buf *out, const char *text, size_t len, enum mcp_words where)
{
    if (mcp_add_words(out, text, len, where) < 0)
        return -1;
    return len && text[len - 1] != '\n' ? buf_add_str(out, "\n", NULL) : 0;
}

static int add_hint(const struct mcp_call *call, const char *hint, struct buf *out)
{
    if (!hint)
        return 0;
    if (buf_add_str(out, "hint: ", NULL) < 0 || mcp_add_hint(call, hint, out) < 0)
        return -1;
    return buf_add_str(out, "\n", NULL);
}

/* A hint is given once. */
static bool is_repeated(const struct run *run, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (run->result.violations[i].hint &&
            strcmp(run->result.violations[i].hint, run->result.violations[at].hint) == 0)
            return true;
    return false;
}

static bool is_same(const struct run_violation *a, const struct run_violation *b)
{
    return a->line && b->line && a->message && b->message && strcmp(a->message, b->message) == 0;
}

/* The line of an earlier one names this place, too. */
static bool said_before(const struct run *run, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (is_same(&run->result.violations[k], &run->result.violations[i]))
            return true;
    return false;
}

/* "line 3: ", or "lines 3, 4, 5 and 7 more: " for the same mistake at several places. */
static int add_places(const struct run *run, size_t first, struct buf *out)
{
    const struct run_violation *all = run->result.violations;
    unsigned last = all[first].line;
    size_t others = 0, more = 0;
    cleanup(buf_done) struct buf lines = BUF_OF(KIB);

    if (!last)
        return 0;
    for (size_t i = first + 1; i < run->result.n_violations; i++)
        if (is_same(&all[first], &all[i]) && all[i].line != last) {
            last = all[i].line;
            if (++others >= PLACES_SHOWN)
                more++;
            else if (buf_printf(&lines, NULL, ", %u", last) < 0)
                return -1;
        }
    if (buf_printf(out, NULL, "line%s %u%s", others ? "s" : "", all[first].line, buf_str(&lines)) <
            0 ||
        (more && buf_printf(out, NULL, " and %zu more", more) < 0))
        return -1;
    return buf_add_str(out, ": ", NULL);
}

static int add_violations(const struct mcp_call *call, const struct run *run, struct buf *out)
{
    if (buf_add_str(out, "refused: nothing was run\n", NULL) < 0)
        return -1;
    for (size_t i = 0; i < run->result.n_violations; i++) {
        const struct run_violation *v = &run->result.violations[i];

        if (said_before(run, i))
            continue;
        if (buf_add_str(out, "- ", NULL) < 0 || add_places(run, i, out) < 0 ||
            buf_add_str(out, v->message ? v->message : v->rule, NULL) < 0 ||
            (v->hint && !is_repeated(run, i) &&
             (buf_add_str(out, " — ", NULL) < 0 || mcp_add_hint(call, v->hint, out) < 0)) ||
            buf_add_str(out, "\n", NULL) < 0)
            return -1;
    }
    return run->result.violations_more
               ? buf_printf(out, NULL, "- and %u more\n", run->result.violations_more)
               : 0;
}

/* So much of a text is shown, and no half of a character. */
static size_t shown_length(const char *text, size_t len)
{
    size_t shown = len < MESSAGE_SHOWN ? len : MESSAGE_SHOWN;

    while (shown < len && shown && ((unsigned char)text[shown] & 0xc0) == 0x80)
        shown--;
    return shown;
}

/* Without the place that a SyntaxError has in its message, " (<cell 3>, line 1)": it follows. */
static size_t message_length(const struct run_exception *e)
{
    size_t len = e->message ? strlen(e->message) : 0;
    const char *place = len && e->line ? memrchr(e->message, '(', len) : NULL;
    char end[32];
    size_t n = (size_t)snprintf(end, sizeof(end), ">, line %u)", e->line);

    if (place && place > e->message && strncmp(place - 1, " (<", 3) == 0 && len > n &&
        strcmp(e->message + len - n, end) == 0)
        return (size_t)(place - 1 - e->message);
    while (len && e->message[len - 1] == '\n') /* as of errors of pandas */
        len--;
    return len;
}

static int add_message(const struct run_exception *e, struct buf *out)
{
    const char *message = e->message;
    size_t len = message_length(e), shown = shown_length(message, len);

    if (!len)
        return 0;
    if (buf_add_str(out, ": ", NULL) < 0 ||
        mcp_add_words(out, message, shown, MCP_WORDS_INSIDE) < 0)
        return -1;
    return shown < len ? buf_printf(out, NULL, "… (%zu bytes more)", len - shown) : 0;
}

static bool takes(const struct mcp_call *call, const char *name)
{
    return mcp_tool_takes(call->tool, name, strlen(name));
}

/* The tools for files: their code is not the caller's. */
static bool is_of_files(const struct mcp_call *call)
{
    return takes(call, "path") && !takes(call, "code");
}

static int add_exception(const struct mcp_call *call, const struct run_exception *e,
                         struct buf *out)
{
    size_t len = strnlen(e->name, NAME_SHOWN);

    while (e->name[len] && len && ((unsigned char)e->name[len] & 0xc0) == 0x80)
        len--;
    if (buf_add_str(out, "error: ", NULL) < 0 ||
        mcp_add_words(out, e->name, len, MCP_WORDS_INSIDE) < 0 ||
        (e->name[len] && buf_add_str(out, "…", NULL) < 0) || add_message(e, out) < 0 ||
        (e->line && !is_of_files(call) && buf_printf(out, NULL, " (line %u)", e->line) < 0) ||
        buf_add_str(out, "\n", NULL) < 0)
        return -1;
    return add_hint(call, e->hint, out);
}

/* Names the arguments that give more time, as long as there is more. */
static int add_timeout(const struct mcp_call *call, const struct run *run, struct buf *out)
{
    double had = run->terms.limits.timeout_ms / 1000.0, long_s = mcp_long_s(call);
    double most = api_limit_max(mcp_host_of(call)->api, call->caller, RUN_LIMIT_ROW_timeout_s);

    if (buf_printf(out, NULL, "timeout: stopped after %g s%s\nhint: ", had,
                   run->result.state == RUN_STATE_KEPT ? "; variables and files stay" : "") < 0 ||
        (takes(call, "timeout_s") && had < most &&
         buf_printf(out, NULL, "pass a larger `timeout_s` (at most %g), or ", most) < 0) ||
        (takes(call, "wait_s") && had < long_s &&
         buf_printf(out, NULL, "`wait_s` to leave it running for up to %g s, or ", long_s) < 0))
        return -1;
    return buf_add_str(out, "do less at a time\n", NULL);
}

/* Reports how it ended, unless it succeeded. */
static int add_status(const struct mcp_call *call, const struct run *run, struct buf *out)
{
    switch (run->result.status) {
    case RUN_SUCCESS:
        return add_hint(call, run->result.hint, out); /* of a pipe that hides a failure */
    case RUN_REFUSED:
        return add_violations(call, run, out);
    case RUN_TIMEOUT:
        return add_timeout(call, run, out);
    case RUN_MEMORY_EXCEEDED:
        return buf_printf(out, NULL,
                          "memory_exceeded: stopped at %g MB\nhint: work on smaller pieces\n",
                          (double)run->terms.limits.memory_bytes / (double)MIB);
    case RUN_CANCELLED:
        return buf_add_str(out, "cancelled: interrupted before its end\n", NULL);
    case RUN_ERROR:
        break;
    }
    if (run->result.exception.name)
        return add_exception(call, &run->result.exception, out);
    if (run->result.signal)
        return buf_printf(out, NULL, "error: killed by signal %d\n", run->result.signal);
    if (buf_printf(out, NULL, "error: exit code %d\n", run->result.exit_code) < 0)
        return -1;
    return add_hint(call, run->result.hint, out);
}

/* Beginning and end of a stream that can be read as a whole elsewhere. */
static int add_ends(const struct run_stream *stream, const char *text, size_t len, size_t budget,
                    enum mcp_words where, struct buf *out)
{
    size_t head, tail;

    mcp_cut(text, len, budget, &head, &tail);
    if (add_lines(out, text, head, where) < 0 ||
        buf_printf(out, NULL, "… [%llu bytes omitted] …\n",
                   (unsigned long long)(stream->total - head - (len - tail))) < 0)
        return -1;
    return add_lines(out, text + tail, len - tail, MCP_WORDS_LINES);
}

/* A long stderr that has nothing but the exception: its places and its message are shown apart. */
static bool is_all_traceback(const struct run *run)
{
    const struct run_stream *stream = &run->result.err;
    const char *traceback = run->result.exception.traceback;
    size_t len = traceback ? strlen(traceback) : 0;

    return stream->spool && len && mcp_traceback_tail(run, traceback, len) &&
           stream->total >= len - 1 && stream->total <= len + 1;
}

/* Nothing else needs room: a long stream is not shown shorter than one that just fits. */
static bool is_alone(const struct run *run, bool is_err)
{
    const struct run_stream *other = is_err ? &run->result.out : &run->result.err;
    const char *value = run->result.value_text;

    return !other->total && !run->result.n_displays && !run->result.n_denials &&
           !run->result.exception.name && (!value || strcmp(value, "None") == 0);
}

static size_t stream_budget(const struct mcp_call *call, const struct run *run, bool is_err)
{
    size_t part = call->max_tokens / STREAM_PART;

    return is_alone(run, is_err) && part > STREAM_WORDS ? call->max_tokens - STREAM_WORDS : part;
}

/* `shown`: bytes of it that the reader has seen. A stream that was cut is shown as a whole again:
 * its parts have other places. */
static int add_stream(const struct mcp_call *call, const struct run *run, bool is_err,
                      uint64_t shown, struct buf *out)
{
    const struct run_stream *stream = is_err ? &run->result.err : &run->result.out;
    const char *label = is_err ? "[stderr]\n" : NULL;
    cleanup(buf_done) struct buf text = BUF_OF(LIMIT_OUTPUT_BYTES_MAX + MIB);
    size_t budget = stream_budget(call, run, is_err);
    enum mcp_words where = label ? MCP_WORDS_LINES : MCP_WORDS_FIRST;

    if (is_err && is_all_traceback(run))
        return 0;
    if (run_stream_render(stream, &text, NULL) < 0)
        return -1;
    if (stream == &run->result.err && !stream->spool && !stream->dropped)
        text.len -= mcp_traceback_tail(run, buf_str(&text), text.len);
    if (shown && !stream->spool && !stream->dropped)
        buf_consume(&text, shown < text.len ? (size_t)shown : text.len);
    if (!text.len)
        return 0;
    if (label && buf_add_str(out, label, NULL) < 0)
        return -1;
    if (stream->spool && budget && mcp_tokens(buf_str(&text), text.len, budget) > budget)
        return add_ends(stream, buf_str(&text), text.len, budget, where, out);
    return add_lines(out, buf_str(&text), text.len, where);
}

/* A stream that was cut has the whole of itself elsewhere. */
static bool is_said(const struct run *run, const char *text, size_t len, const struct buf *out)
{
    return run->result.err.spool || run->result.err.dropped ||
           memmem(buf_str(out), out->len, text, len);
}

/* The rest of a message of which the first line has the beginning. `is_kept`: a long one can be
 * read elsewhere, and its end is enough. */
static int add_rest_of_message(const char *message, size_t len, bool is_kept, struct buf *out)
{
    size_t from = shown_length(message, len);

    if (is_kept && len - from > MESSAGE_SHOWN / 2)
        for (from = len - MESSAGE_SHOWN / 2; ((unsigned char)message[from] & 0xc0) == 0x80; from++)
            continue;
    if (buf_add_str(out, "[message] …", NULL) < 0)
        return -1;
    return add_lines(out, message + from, len - from, MCP_WORDS_INSIDE);
}

/* The frames that are the program's own, and the rest of the message. */
static int add_traceback(const struct run *run, struct buf *out)
{
    const char *message = run->result.exception.message;
    size_t message_len = message ? strlen(message) : 0;
    bool is_apart = is_all_traceback(run);

    if ((is_apart || (!run->result.err.spool && !run->result.err.dropped)) &&
        mcp_add_traceback(run, out) < 0)
        return -1;
    if (message_len <= MESSAGE_SHOWN || (!is_apart && is_said(run, message, message_len, out)))
        return 0;
    return add_rest_of_message(message, message_len, is_apart, out);
}

/* Names are a program's words as well. */
int mcp_add_name(const struct mcp_host *host, const char *path, struct buf *out)
{
    cleanup(buf_done) struct buf shown = BUF_OF(MCP_URI_MAX);
    cleanup_free char *masked = NULL;
    size_t len = 0;

    if (files_path_escape(path, &shown, NULL) < 0)
        return -1;
    masked = mcp_mask(host, buf_str(&shown), shown.len, &len);
    return masked ? buf_add(out, masked, len, NULL) : -1;
}

bool mcp_is_hidden(const char *path)
{
    return path[0] == '.' || strstr(path, "/.");
}

static int add_files(const struct mcp_call *call, const struct run *run, struct buf *out)
{
    size_t shown = 0, more = 0;

    for (size_t i = 0; i < run->result.n_files; i++) {
        const struct run_file *file = &run->result.files[i];

        if (file->change == RUN_FILE_GONE || mcp_is_hidden(file->path))
            continue;
        if (shown == FILES_SHOWN) {
            more++;
            continue;
        }
        if (buf_add_str(out, shown++ ? ", " : "[files] ", NULL) < 0 ||
            mcp_add_name(mcp_host_of(call), file->path, out) < 0 ||
            buf_printf(out, NULL, " (%llu bytes)", (unsigned long long)file->size) < 0)
            return -1;
    }
    if (!shown)
        return 0;
    if (more && buf_printf(out, NULL, " and %zu more", more) < 0)
        return -1;
    if (!*run->origin.session &&
        buf_printf(out, NULL, "; they are deleted with this sandbox%s",
                   takes(call, "session_id") ? ": to keep files, pass session_id \"new\"" : "") < 0)
        return -1;
    return buf_add_str(out, "\n", NULL);
}

static int add_rest(const struct mcp_call *call, const struct run *run, struct buf *out)
{
    const char *stream = run->result.out.spool ? "stdout" : "stderr";
    char arguments[96];

    if (!run->result.out.spool && !run->result.err.spool)
        return 0;
    (void)snprintf(arguments, sizeof(arguments), "\"handle\": \"%s\"%s", run->id,
                   run->result.out.spool ? "" : ", \"stream\": \"stderr\"");
    if (buf_printf(out, NULL, "[output] the middle of %s is omitted; page, or add \"search\": ",
                   run->result.out.spool && run->result.err.spool ? "both streams" : stream) < 0 ||
        mcp_add_way(call, mcp_tool_output.name, arguments, out) < 0)
        return -1;
    return buf_add_str(out, "\n", NULL);
}

/* A cell that took a while to notice its interrupt. */
static int add_interrupt(const struct run *run, struct buf *out)
{
    return run->result.interrupt_ms >= 1000 && run->result.state == RUN_STATE_KEPT
               ? buf_printf(out, NULL,
                            "[interrupt] the code ended %.1f s after its interrupt; variables are "
                            "kept\n",
                            run->result.interrupt_ms / 1000)
               : 0;
}

static int add_state(const struct run *run, struct buf *out)
{
    if (run->result.state == RUN_STATE_LOST && run->result.interrupt_ms > 0)
        return buf_printf(out, NULL,
                          "[state] the code did not end within %.3g s of its interrupt, so the "
                          "kernel was restarted: variables are lost, files stay\n",
                          run->result.interrupt_ms / 1000);
    if (run->result.state == RUN_STATE_LOST)
        return buf_add_str(
            out, "[state] the kernel was restarted: variables are lost, files stay\n", NULL);
    if (run->result.state == RUN_STATE_FRESH)
        return buf_add_str(out, "[state] variables of earlier calls were lost before this one\n",
                           NULL);
    return 0;
}

static int add_masked(const struct run *run, struct buf *out)
{
    return run->result.masked.count
               ? buf_printf(out, NULL, "[masked] %llu secret(s) replaced by labels\n",
                            (unsigned long long)run->result.masked.count)
               : 0;
}

/* Lists denials, the layer, and what would allow them, so that a model does not try them again and
 * again. */
static int add_denials(const struct mcp_call *call, const struct run *run, struct buf *out)
{
    for (size_t i = 0; i < run->result.n_denials; i++) {
        const struct run_denial *d = &run->result.denials[i];

        if (run_denial_is_status(run, d)) /* the first line has said so */
            continue;
        if (buf_printf(out, NULL, "[denied] %s [%s]", d->what, d->layer) < 0 ||
            (d->count > 1 &&
             buf_printf(out, NULL, ", %llu times", (unsigned long long)d->count) < 0) ||
            (d->hint &&
             (buf_add_str(out, "; ", NULL) < 0 || mcp_add_hint(call, d->hint, out) < 0)) ||
            buf_add_str(out, "\n", NULL) < 0)
            return -1;
    }
    return run->result.denials_more ? buf_printf(out, NULL, "[denied] %llu more\n",
                                                 (unsigned long long)run->result.denials_more)
                                    : 0;
}

int mcp_result_text(const struct mcp_call *call, const struct run *run, const char *note,
                    struct buf *out)
{
    bool is_mark = note && *note == '['; /* a line of its own (mcp_place_mark()) */

    if (add_status(call, run, out) < 0 || add_stream(call, run, false, call->shown[0], out) < 0 ||
        add_stream(call, run, true, call->shown[1], out) < 0 || add_traceback(run, out) < 0 ||
        mcp_add_value(run, out) < 0 || mcp_add_displays(run, out) < 0)
        return -1;
    if (!out->len && !is_mark &&
        buf_add_str(out, call->shown[0] || call->shown[1] ? "(no more output)\n" : "(no output)\n",
                    NULL) < 0)
        return -1;
    if (add_files(call, run, out) < 0 || add_rest(call, run, out) < 0 || add_state(run, out) < 0 ||
        add_interrupt(run, out) < 0 || add_denials(call, run, out) < 0 || add_masked(run, out) < 0)
        return -1;
    if (run->result.directory && buf_printf(out, NULL, "[now in %s]\n", run->result.directory) < 0)
        return -1;
    return note ? buf_printf(out, NULL, is_mark ? "%s\n" : "[note] %s\n", note) : 0;
}

json_t *mcp_text_result(const char *text, size_t len, bool is_error)
{
    json_t *result = json_pack("{s:[{s:s, s:o}]}", "content", "type", "text", "text",
                               json_text_string(text, len));

    if (is_error)
        json_set(result, "isError", json_true());
    return result;
}

/* --- what a program reads --- */

static bool is_nothing(const json_t *value)
{
    return !value || json_is_null(value) || (json_is_array(value) && !json_array_size(value)) ||
           (json_is_string(value) && !json_string_length(value));
}

void mcp_mask_names(const struct mcp_host *host, json_t *list)
{
    json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        const json_t *path = json_object_get(item, "path");
        size_t len = 0;
        cleanup_free char *masked =
            mcp_mask(host, json_string_value(path), json_string_length(path), &len);

        json_set(item, "path", masked ? json_text_string(masked, len) : json_string(""));
    }
}

static void drop_nothing(json_t *object)
{
    const char *key;
    json_t *value;
    void *next;

    json_object_foreach_safe(object, next, key, value)
    {
        if (is_nothing(value))
            (void)json_object_del(object, key);
    }
}

/* Entries of a list of files that nobody asked about. */
static void drop_hidden(json_t *object, const char *key)
{
    json_t *list = json_object_get(object, key);

    for (size_t i = json_array_size(list); i-- > 0;) {
        const json_t *item = json_array_get(list, i);
        const char *path =
            json_string_value(json_is_object(item) ? json_object_get(item, "path") : item);

        if (path && mcp_is_hidden(path))
            (void)json_array_remove(list, i);
    }
    if (list && !json_array_size(list))
        (void)json_object_del(object, key);
}

/* Fields that a model needs only if they are set. */
static void add_incidents(const struct run *run, const json_t *whole, json_t *object)
{
    json_t *truncated = json_object_get(whole, "truncated");

    if (json_is_true(json_object_get(truncated, "stdout")) ||
        json_is_true(json_object_get(truncated, "stderr")))
        (void)json_object_set(object, "truncated", truncated);
    if (run->result.n_denials)
        (void)json_object_set(object, "denials", json_object_get(whole, "denials"));
    if (run->result.denials_more)
        (void)json_object_set(object, "denials_more", json_object_get(whole, "denials_more"));
    if (run->result.masked.count)
        (void)json_object_set(object, "masked", json_object_get(whole, "masked"));
}

/* The first line of the text has no more of it either. */
static void shorten(json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    size_t len = json_string_length(value);
    const char *text = json_string_value(value);
    cleanup(buf_done) struct buf cut = BUF_OF(2 * MESSAGE_SHOWN);

    if (!text || len <= MESSAGE_SHOWN)
        return;
    if (buf_add(&cut, text, shown_length(text, len), NULL) == 0 &&
        buf_printf(&cut, NULL, "… (%zu bytes more)", len - shown_length(text, len)) == 0)
        json_set(object, key, json_text_string(buf_str(&cut), cut.len));
}

static void fit_hint(const struct mcp_call *call, json_t *object)
{
    const char *hint = json_string_value(json_object_get(object, "hint"));

    if (hint)
        json_set(object, "hint", mcp_hint_json(call, hint));
}

static void fit_hints(const struct mcp_call *call, json_t *list)
{
    json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        fit_hint(call, item);
        drop_nothing(item);
    }
}

/* `error` says the same. */
static void drop_traceback(const struct run *run, json_t *object)
{
    const json_t *text = json_object_get(object, "stderr");
    size_t len = json_string_length(text), tail;

    if (!text || run->result.err.spool || run->result.err.dropped)
        return;
    tail = mcp_traceback_tail(run, json_string_value(text), len);
    if (tail == len)
        (void)json_object_del(object, "stderr");
    else if (tail)
        json_set(object, "stderr", json_text_string(json_string_value(text), len - tail));
}

/* The result object without what says nothing; pictures are content of their own. */
static json_t *structured(const struct mcp_call *call, const struct run *run)
{
    static const char *const kept[] = {"id",         "status",        "exit_code",  "stdout",
                                       "stderr",     "result",        "error",      "hint",
                                       "violations", "files",         "files_gone", "output_handle",
                                       "session_id", "session_state", "interrupt"};
    json_t *whole = NULL, *object = json_object();

    if (result_json(run, HINT_FOR_ALL, &whole, NULL) < 0)
        return object;
    for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
        json_t *value = json_object_get(whole, kept[i]);

        if (!is_nothing(value))
            (void)json_object_set(object, kept[i], value);
    }
    if (!run->result.changes.has_undo && !json_object_get(object, "output_handle"))
        (void)json_object_del(object, "id");
    if (mcp_result_table(run))
        (void)json_object_del(object, "result");
    if (run->result.state == RUN_STATE_KEPT)
        (void)json_object_del(object, "session_state");
    drop_traceback(run, object);
    (void)json_object_del(json_object_get(object, "error"), "traceback");
    shorten(json_object_get(object, "error"), "message");
    drop_nothing(json_object_get(object, "error"));
    drop_hidden(object, "files");
    drop_hidden(object, "files_gone");
    mcp_mask_names(mcp_host_of(call), json_object_get(object, "files"));
    add_incidents(run, whole, object);
    fit_hint(call, object);
    fit_hint(call, json_object_get(object, "error"));
    fit_hints(call, json_object_get(object, "violations"));
    fit_hints(call, json_object_get(object, "denials"));
    json_decref(whole);
    return object;
}

/* --- content beside the text --- */

int mcp_file_uri(const char *session_id, const char *path, struct buf *out, struct error *err)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";

    if (buf_printf(out, err, "belljar://sessions/%s/files/", session_id) < 0)
        return -1;
    for (; *path; path++)
        if (strchr(plain, *path) ? buf_add(out, path, 1, err) < 0
                                 : buf_printf(out, err, "%%%02X", (unsigned char)*path) < 0)
            return -1;
    return 0;
}

char *mcp_mask(const struct mcp_host *host, const char *text, size_t len, size_t *ret_len)
{
    struct error failure = {0};
    const struct mask_context context = {.level = config_masking(host->api->config),
                                         .masks = pool_masks(host->api->pool),
                                         .error = &failure};
    struct clean_text clean = mask_text(context, (struct span){text, len});
    char *copy = NULL;

    if (failure.code == E_NONE && (copy = malloc(clean_len(clean) + 1))) {
        memcpy(copy, clean_data(clean), clean_len(clean));
        copy[clean_len(clean)] = '\0';
        *ret_len = clean_len(clean);
    }
    error_done(&failure);
    return copy;
}

/* A name that is a secret is shown by its label alone, in the text: no file has it. */
static void add_links(const struct run *run, json_t *content)
{
    size_t count = 0;

    for (size_t i = 0; i < run->result.n_files && count < FILES_LINKED; i++) {
        const struct run_file *file = &run->result.files[i];
        cleanup(buf_done) struct buf uri = {0};

        buf_init(&uri, MCP_URI_MAX);
        if (file->change == RUN_FILE_GONE || mcp_is_hidden(file->path) || file->is_masked ||
            mcp_file_uri(run->origin.session, file->path, &uri, NULL) < 0)
            continue;
        count++;
        (void)json_array_append_new(content,
                                    json_pack("{s:s, s:s, s:o, s:I}", "type", "resource_link",
                                              "uri", buf_str(&uri), "name",
                                              json_text_string(file->path, strlen(file->path)),
                                              "size", (json_int_t)file->size));
    }
}

bool mcp_result_has_links(const struct mcp_call *call)
{
    const char *version = call->peer ? mcp_peer_version(call->peer) : NULL;

    if (call->is_brief)
        return false;
    return call->era == MCP_MODERN || (version && strcmp(version, "2025-06-18") >= 0);
}

json_t *mcp_result(struct mcp_call *call, const struct run *run, const char *note)
{
    cleanup(buf_done) struct buf text = BUF_OF(TEXT_MAX);
    json_t *content = json_array();
    json_t *result = json_pack("{s:o}", "content", content);

    (void)mcp_result_text(call, run, note, &text);
    (void)json_array_append_new(content, json_pack("{s:s, s:o}", "type", "text", "text",
                                                   json_text_string(buf_str(&text), text.len)));
    mcp_add_pictures(run, content);
    if (mcp_result_has_links(call)) {
        if (*run->origin.session)
            add_links(run, content);
        json_set(result, "structuredContent", structured(call, run));
    }
    if (run->result.status != RUN_SUCCESS)
        json_set(result, "isError", json_true());
    return result;
}
