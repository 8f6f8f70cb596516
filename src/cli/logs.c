/* belljar logs: the output of a run on a server, so far or until its end. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/result.h"
#include "api/result_read.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/json.h"
#include "cli/cmd.h"
#include "cli/output_sink.h"
#include "cli/remote.h"
#include "cli/runs.h"
#include "cli/server.h"

/* Bytes of one page of long output. */
#define PAGE_BYTES 262144

static int help(void)
{
    (void)printf(
        "usage: belljar logs [OPTION]… ID\n\n"
        "Show what a run on a `belljar serve` has written: its stdout on standard output,\n"
        "its stderr on standard error. ID may be shortened to a beginning or an end that\n"
        "fits only one run. The id of a durable job stands for its last attempt. Ctrl-C\n"
        "ends only this command.\n\n"
        "  -f, --follow       follow the output until the run ends; exit with its code\n"
        "  --json             print the result, or that it runs, as one JSON object\n" SERVER_HELP
        "\nexample: belljar logs -f $(belljar run -d train.py)\n");
    return 0;
}

struct logs {
    struct client client;
    struct server_place place;
    struct runs_target run;
    bool follows, is_json, is_of_job;
    struct output_sink sinks[2]; /* of stdout and stderr */
    struct run *result;          /* NULL: it runs */
};

static int write_text(struct logs *logs, int i, const char *text, size_t len, struct error *err)
{
    const struct run_event event = {
        .kind = i ? RUN_EVENT_STDERR : RUN_EVENT_STDOUT, .data = text, .len = len};

    if (output_sink_pass(&logs->sinks[i], &event) == 0)
        return 0;
    return output_sink_check(&logs->sinks[i], i ? "standard error" : "standard output", err);
}

static void say_dropped(int i, uint64_t bytes)
{
    if (bytes)
        (void)fprintf(stderr, "belljar: the server did not keep %" PRIu64 " bytes of %s here\n",
                      bytes, i ? "stderr" : "stdout");
}

/* --- a run that is over --- */

/* All that is kept of a stream, page by page. 1: no more is kept than the answer has. */
static int write_pages(struct logs *logs, int i, struct error *err)
{
    cleanup_free char *path = client_path("/v1/runs/", logs->run.id, "/output");
    uint64_t offset = 0;

    while (path) {
        cleanup_json json_t *page = NULL;
        cleanup_free char *query = NULL;
        const json_t *text, *next;

        if (asprintf(&query, "%s?stream=%s&limit=%d&offset=%" PRIu64, path, i ? "stderr" : "stdout",
                     PAGE_BYTES, offset) < 0) {
            query = NULL;
            break;
        }
        if (client_call(&logs->client, "GET", query, NULL, &page, err) < 0) {
            if (offset || err->code != E_NOT_FOUND)
                return -1;
            error_done(err);
            return 1;
        }
        text = json_object_get(page, "text");
        if (!json_is_string(text))
            return error_set(err, E_PROTOCOL, "the server's answer has no text");
        if (write_text(logs, i, json_string_value(text), json_string_length(text), err) < 0)
            return -1;
        next = json_object_get(json_object_get(page, "next"), "offset");
        if (!json_is_integer(next) || json_integer_value(next) <= (json_int_t)offset) {
            say_dropped(i, (uint64_t)json_integer_value(json_object_get(page, "dropped")));
            return 0;
        }
        offset = (uint64_t)json_integer_value(next);
    }
    return error_memory(err);
}

/* Writes the output that the answer has, or all of it where more is kept. */
static int write_kept(struct logs *logs, const json_t *result, struct error *err)
{
    static const char *const names[] = {"stdout", "stderr"};
    const json_t *truncated = json_object_get(result, "truncated");

    for (int i = 0; i < 2; i++) {
        const json_t *text = json_object_get(result, names[i]);
        int r = json_is_true(json_object_get(truncated, names[i])) ? write_pages(logs, i, err) : 1;

        if (r == 1 && json_is_string(text))
            r = write_text(logs, i, json_string_value(text), json_string_length(text), err);
        if (r < 0)
            return -1;
    }
    return 0;
}

/* --- events --- */

static int take_result(struct logs *logs, const json_t *data, bool is_first, struct error *err)
{
    const json_t *text = json_object_get(data, "stderr");

    if (is_first && write_kept(logs, data, err) < 0)
        return -1;
    logs->result = run_new();
    if (!logs->result)
        return error_memory(err);
    /* A traceback that stands in it is not shown a second time. */
    if (json_is_string(text))
        remote_add_text(logs->result, true, json_string_value(text), json_string_length(text));
    return result_read(data, logs->result, err);
}

static int take_event(struct logs *logs, const char *name, const json_t *data, bool is_first,
                      struct error *err)
{
    const json_t *text = json_object_get(data, "text");
    const char *stream = json_string_value(json_object_get(data, "stream"));

    if ((strcmp(name, "stdout") == 0 || strcmp(name, "stderr") == 0) && json_is_string(text))
        return write_text(logs, name[3] == 'e', json_string_value(text), json_string_length(text),
                          err);
    if (strcmp(name, "dropped") == 0)
        say_dropped(stream && strcmp(stream, "stderr") == 0,
                    (uint64_t)json_integer_value(json_object_get(data, "bytes")));
    else if (strcmp(name, "result") == 0)
        return take_result(logs, data, is_first, err);
    else if (strcmp(name, "error") == 0)
        return remote_take_error(data, err);
    return 0;
}

static int read_events(struct logs *logs, struct error *err)
{
    cleanup_free char *path =
        client_path("/v1/runs/", logs->run.id, logs->follows ? "/follow" : "/follow?wait=false");
    struct client_stream *stream = NULL;
    const char *name;
    json_t *data = NULL;
    bool is_first = true, is_running = false;
    int r = path ? client_open(&logs->client, "GET", path, NULL, &stream, err) : error_memory(err);

    if (r < 0)
        return r;
    while (!logs->result && !is_running && (r = client_next(stream, NULL, &name, &data, err)) > 0) {
        if (r == 2)
            continue;
        r = take_event(logs, name, data, is_first, err);
        is_running = strcmp(name, "running") == 0;
        json_decref(data);
        data = NULL;
        is_first = false;
        if (r < 0)
            break;
    }
    client_close(stream);
    if (r == 0 && !logs->result && !is_running)
        return error_set(err, E_PROTOCOL, "the server's answer ended without a result");
    return r < 0 ? -1 : 0;
}

/* --- the command --- */

/* As `belljar run` ends. */
static void print_end(const struct logs *logs)
{
    cleanup(buf_done) struct buf text = BUF_OF(SIZE_MAX / 2);
    const struct run *run = logs->result;
    bool has_color = terminal_has_color(STDERR_FILENO, "auto");
    bool is_brief = !logs->sinks[1].is_terminal &&
                    (run->result.status == RUN_SUCCESS || run->result.status == RUN_ERROR);

    if ((is_brief ? result_brief(run, has_color, &text, NULL)
                  : result_human(run, has_color, &text, NULL)) == 0)
        (void)file_write_all(STDERR_FILENO, buf_str(&text), text.len);
}

static int print_json(const struct logs *logs, struct error *err)
{
    cleanup_free char *path = client_path("/v1/runs/", logs->run.id, "");
    cleanup_json json_t *answer = NULL;

    if (!path)
        return error_memory(err);
    return client_call(&logs->client, "GET", path, NULL, &answer, err) < 0
               ? -1
               : cmd_print_json(answer, err);
}

static int show(struct logs *logs)
{
    struct error err = {0};
    int r;

    output_sink_init(&logs->sinks[0], STDOUT_FILENO, "auto");
    output_sink_init(&logs->sinks[1], STDERR_FILENO, "auto");
    r = read_events(logs, &err);
    (void)output_sink_finish(&logs->sinks[0]);
    (void)output_sink_finish(&logs->sinks[1]);
    if (logs->sinks[0].failure == EPIPE || logs->sinks[1].failure == EPIPE) {
        error_done(&err);
        return 128 + SIGPIPE;
    }
    if (r < 0 && err.code == E_NOT_FOUND && logs->is_of_job)
        (void)error_hint(&err,
                         "the result of a job that is over is kept: `belljar jobs result ID`");
    if (r < 0)
        return cmd_fail_run(&err);
    if (logs->result)
        print_end(logs);
    return logs->result && logs->follows ? run_status_exit(logs->result) : 0;
}

/* The run of the job's last attempt. */
static int find_attempt(struct logs *logs, const char *job, struct error *err)
{
    cleanup_free char *path = client_is_id(job) ? client_path("/v1/jobs/", job, "") : NULL;
    cleanup_json json_t *answer = NULL;
    const json_t *history;
    const char *id;

    if (!client_is_id(job))
        return error_set(err, E_INVALID, "`%.40s` is not the id of a job", job);
    if (!path)
        return error_memory(err);
    if (client_call(&logs->client, "GET", path, NULL, &answer, err) < 0)
        return err->code == E_NOT_FOUND ? error_wrap(err, "%s", job) : -1;
    history = json_object_get(answer, "history");
    if (!json_array_size(history)) {
        error_set(err, E_INVALID, "%s: no attempt of the job has begun", job);
        return error_hint(err, "`belljar jobs show %s` tells what it waits for", job);
    }
    id = json_get_text(json_array_get(history, json_array_size(history) - 1), "run_id");
    if (!client_is_id(id))
        return error_set(err, E_PROTOCOL, "the server's job has an invalid id of a run");
    (void)snprintf(logs->run.id, sizeof(logs->run.id), "%s", id);
    logs->is_of_job = true;
    return 0;
}

static int find(struct logs *logs, const char *word, struct error *err)
{
    if (server_open(&logs->place, NULL, &logs->client, err) < 0)
        return -1;
    if (runs_is_job(word))
        return find_attempt(logs, word, err);
    if (runs_find(&logs->client, word, &logs->run, err) < 0)
        return -1;
    if (!logs->run.is_session)
        return 0;
    error_set(err, E_INVALID, "`%s` is a session", word);
    return error_hint(err, "`belljar ps --all` lists its cells, which have ids of their own");
}

static void logs_done(struct logs *logs)
{
    output_sink_done(&logs->sinks[0]);
    output_sink_done(&logs->sinks[1]);
    if (logs->result)
        run_free(logs->result);
    client_done(&logs->client);
}

int cmd_logs(int argc, char **argv)
{
    static const struct option options[] = {
        SERVER_OPTIONS,
        {"follow", no_argument, NULL, 'f'},
        {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    cleanup(logs_done) struct logs logs = {.sinks = {OUTPUT_SINK_NONE, OUTPUT_SINK_NONE}};
    const struct cmd_place places[] = {
        SERVER_PLACES(&logs.place), {'f', .flag = &logs.follows}, {'j', .flag = &logs.is_json}};
    struct error err = {0};
    int r = cmd_read_letters(argc, argv, ":fh", options, places, ARRAY_SIZE(places), help);

    if (r > 0)
        return r - 1;
    if (optind + 1 != argc) {
        error_set(&err, E_INVALID, "`belljar logs` needs the id of one run");
        error_hint(&err, "`belljar ps --all` lists them");
        return cmd_fail(&err);
    }
    if (find(&logs, argv[optind], &err) < 0)
        return server_fail(&err);
    if (!logs.is_json)
        return show(&logs);
    return print_json(&logs, &err) < 0 ? server_fail(&err) : 0;
}
