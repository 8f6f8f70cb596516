#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/result.h"
#include "base/cleanup.h"
#include "base/error_json.h"
#include "base/file.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/stream.h"
#include "cli/batch/batch.h"
#include "cli/table.h"

#define PROGRESS_NS    ((uint64_t)100 * 1000 * 1000)
#define PROGRESS_WIDTH 24

/* Bytes of a detail that are kept. */
#define DETAIL_BYTES 120

/* --- progress --- */

static void show_progress(struct batch *batch)
{
    uint64_t now = loop_now_ns();
    size_t filled = batch->done * PROGRESS_WIDTH / batch->count;
    char bar[PROGRESS_WIDTH + 1];

    if (!isatty(STDERR_FILENO) || (batch->shown_ns && now - batch->shown_ns < PROGRESS_NS))
        return;
    batch->shown_ns = now;
    memset(bar, '-', PROGRESS_WIDTH);
    memset(bar, '#', filled);
    bar[PROGRESS_WIDTH] = '\0';
    (void)fprintf(stderr, "\r\033[K[%s] %zu of %zu, %zu failed, %.0f s", bar, batch->done,
                  batch->count, batch->failed, (double)(now - batch->begun_ns) / 1e9);
}

static void clear_progress(struct batch *batch)
{
    if (batch->shown_ns)
        (void)fprintf(stderr, "\r\033[K");
    batch->shown_ns = 0;
}

/* --- output --- */

static int write_file(const struct batch *batch, const char *name, const char *suffix,
                      const char *text, size_t len, struct error *err)
{
    cleanup_free char *path = NULL;
    cleanup_close int fd = -1;

    if (asprintf(&path, "%s.%s", name, suffix) < 0) {
        path = NULL;
        return error_memory(err);
    }
    fd = openat(batch->into_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0 || file_write_all(fd, text, len) < 0)
        return error_errno(err, "--into: write `%s`", path);
    return 0;
}

static int keep_text(const struct batch *batch, const struct batch_item *item, const char *suffix,
                     const struct run_stream *stream, const json_t *text, struct error *err)
{
    cleanup(buf_done) struct buf out = BUF_OF(SIZE_MAX / 2);

    if (text)
        return write_file(batch, item->kept, suffix,
                          json_is_string(text) ? json_string_value(text) : "",
                          json_string_length(text), err);
    if (run_stream_render(stream, &out, err) < 0)
        return -1;
    return write_file(batch, item->kept, suffix, buf_str(&out), out.len, err);
}

/* Of a server, as its answer has them. */
static int keep_output(const struct batch *batch, const struct batch_item *item,
                       const struct run *run, const json_t *answer, struct error *err)
{
    if (!item->kept)
        return 0;
    if (keep_text(batch, item, "out", &run->result.out, json_object_get(answer, "stdout"), err) < 0)
        return -1;
    return keep_text(batch, item, "err", &run->result.err, json_object_get(answer, "stderr"), err);
}

/* --- one program --- */

static int print_line(const struct batch *batch, const struct batch_item *item, const char *key,
                      json_t *value, struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(SIZE_MAX / 2);
    cleanup_json json_t *line =
        json_pack("{s:I, s:o, s:o}", "index", (json_int_t)(item - batch->items), "name",
                  json_text_string(item->path, strlen(item->path)), key, value);

    if (!line)
        return error_memory(err);
    if (json_text_dump(line, JSON_TEXT_COMPACT, &text, err) < 0 ||
        buf_add_str(&text, "\n", err) < 0)
        return -1;
    if (file_write_all(STDOUT_FILENO, buf_str(&text), text.len) < 0)
        return error_errno(err, "write the result");
    return 0;
}

static int finish(struct batch *batch, const struct batch_item *item, const char *key,
                  json_t *value, struct error *err)
{
    int r = batch->is_json ? print_line(batch, item, key, value, err) : 0;

    if (!batch->is_json)
        json_decref(value);
    batch->done++;
    batch->failed += strcmp(item->outcome, "success") != 0;
    show_progress(batch);
    return r;
}

static char *detail_of(const struct run *run)
{
    const struct run_exception *e = &run->result.exception;
    char *text = NULL;

    if (run->result.n_violations)
        return strndup(run->result.violations[0].message ? run->result.violations[0].message : "",
                       DETAIL_BYTES);
    if (!e->name)
        return NULL;
    if (asprintf(&text, "%.40s%s%.*s", e->name, e->message && *e->message ? ": " : "",
                 DETAIL_BYTES - 42, e->message ? e->message : "") < 0)
        return NULL;
    return text;
}

int batch_report(struct batch *batch, struct batch_item *item, const struct run *run,
                 const json_t *answer, struct error *err)
{
    json_t *object = json_incref((json_t *)answer);

    item->outcome = run_status_name(run->result.status);
    item->exit_code = run->result.exit_code;
    item->wall_ms = run->result.usage.wall_ms;
    item->memory_bytes = (double)run->result.usage.memory_peak_bytes;
    item->detail = detail_of(run);
    if (keep_output(batch, item, run, answer, err) < 0 ||
        (!object && batch->is_json && result_json(run, HINT_FOR_CLI, &object, err) < 0)) {
        json_decref(object);
        return -1;
    }
    return finish(batch, item, "result", object ? object : json_null(), err);
}

int batch_report_error(struct batch *batch, struct batch_item *item, struct error *why,
                       struct error *err)
{
    json_t *object = error_json(why, HINT_FOR_CLI);
    json_t *value = json_incref(json_object_get(object, "error"));

    json_decref(object);
    item->outcome = "failed";
    item->detail = why->message ? strndup(why->message, DETAIL_BYTES) : NULL;
    error_done(why);
    return finish(batch, item, "error", value ? value : json_null(), err);
}

/* --- all of them --- */

static void add_row(struct table *table, const struct batch_item *item)
{
    bool has_run = item->outcome && strcmp(item->outcome, "failed") != 0;
    char size[TABLE_AGE_SIZE];

    table_add(table, item->path);
    if (has_run && strcmp(item->outcome, "error") == 0)
        table_addf(table, "error, exit %d", item->exit_code);
    else
        table_add(table, item->outcome ? item->outcome : "not run");
    if (!has_run)
        table_add(table, NULL);
    else if (item->wall_ms < 10000)
        table_addf(table, "%.0f ms", item->wall_ms);
    else
        table_addf(table, "%.1f s", item->wall_ms / 1000);
    table_add(table,
              has_run && item->memory_bytes > 0 ? table_size(item->memory_bytes, size) : NULL);
    table_add(table, item->detail ? item->detail : "");
}

/* "990 success, 8 error, 2 timeout" */
static void print_counts(const struct batch *batch)
{
    const char *before = "";

    for (size_t i = 0; i < batch->count; i++) {
        const char *outcome = batch->items[i].outcome ? batch->items[i].outcome : "not run";
        size_t n = 0, first = i;

        for (size_t k = 0; k < batch->count; k++) {
            const char *other = batch->items[k].outcome ? batch->items[k].outcome : "not run";

            if (strcmp(outcome, other) != 0)
                continue;
            first = k < first ? k : first;
            n++;
        }
        if (first < i)
            continue; /* counted with that one */
        (void)fprintf(stderr, "%s%zu %s", before, n, outcome);
        before = ", ";
        if (n == batch->count)
            break;
    }
}

void batch_print(struct batch *batch)
{
    static const struct table_column columns[] = {
        {"NAME", 80, false}, {"OUTCOME", 24, false},          {"TIME", 0, true},
        {"MEMORY", 0, true}, {"DETAIL", DETAIL_BYTES, false}, {0}};
    struct table table;

    clear_progress(batch);
    if (batch->is_json)
        return;
    table_init(&table, columns);
    for (size_t i = 0; i < batch->count; i++)
        add_row(&table, &batch->items[i]);
    table_print(&table, stdout, table_width(STDOUT_FILENO));
    table_done(&table);
    (void)fflush(stdout);
    print_counts(batch);
    (void)fprintf(stderr, " in %.1f s\n", (double)(loop_now_ns() - batch->begun_ns) / 1e9);
}
