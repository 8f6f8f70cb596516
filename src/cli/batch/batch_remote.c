/* Programs of a batch on a server: some hundred in a request, answered as they end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/result_read.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "cli/batch/batch.h"
#include "cli/remote.h"
#include "cli/run_source.h"
#include "cli/server.h"

/* Of one request. The server takes more of both. */
#define RUNS_MAX   500
#define BYTES_MAX  ((size_t)8 * MIB)
#define INDEX_SIZE 24

/* Programs that go out with one request. */
struct load {
    json_t *runs;
    size_t bytes;
};

/* 1: it is among the runs. 0: it cannot run, and that is reported. */
static int add_item(struct batch *batch, struct batch_item *item, struct load *load,
                    struct error *err)
{
    struct run_text text = {0};
    struct run_request asked = {0};
    cleanup_error struct error why = {0};
    json_t *body = json_object();
    char index[INDEX_SIZE];
    int r = batch_read(batch, item, &text, &asked, &why);

    (void)snprintf(index, sizeof(index), "%zu", (size_t)(item - batch->items));
    if (r == 0)
        r = remote_body(&batch->remote, batch->config, &asked, body, &why);
    load->bytes += text.code.len + text.input.len + KIB;
    run_request_done(&asked);
    run_text_done(&text);
    if (r < 0) {
        json_decref(body);
        return batch_report_error(batch, item, &why, err);
    }
    if (json_object_set_new(body, "id", json_string(index)) < 0 ||
        json_array_append_new(load->runs, body) < 0)
        return error_memory(err);
    return 1;
}

/* The item that an answer belongs to; NULL: it is none that was asked for, or not any more. */
static struct batch_item *item_of(const struct batch *batch, const json_t *data, size_t from,
                                  size_t to)
{
    const char *id = json_string_value(json_object_get(data, "id"));
    char *end;
    unsigned long long index = id ? strtoull(id, &end, 10) : 0;

    if (!id || !*id || *end || index < from || index >= to || batch->items[index].outcome)
        return NULL;
    return &batch->items[index];
}

static int take_result(struct batch *batch, struct batch_item *item, const json_t *answer,
                       struct error *err)
{
    struct run *run = run_new();
    int r = run ? result_read(answer, run, err) : error_memory(err);

    if (r == 0)
        r = batch_report(batch, item, run, answer, err);
    if (run)
        run_free(run);
    return r;
}

static int take_run(struct batch *batch, const json_t *data, size_t from, size_t to,
                    struct error *err)
{
    struct batch_item *item = item_of(batch, data, from, to);
    const json_t *result = json_object_get(data, "result");
    struct error why = {0};

    if (!item)
        return error_set(err, E_PROTOCOL,
                         "the server answered for a program that it does not have");
    if (json_is_object(result))
        return take_result(batch, item, result, err);
    (void)remote_take_error(data, &why);
    return batch_report_error(batch, item, &why, err);
}

static int take_answers(struct batch *batch, struct client_stream *stream, size_t from, size_t to,
                        struct error *err)
{
    const char *name;
    json_t *data = NULL;
    int r;

    while ((r = client_next(stream, NULL, &name, &data, err)) > 0) {
        if (r == 2)
            continue;
        r = strcmp(name, "run") == 0 ? take_run(batch, data, from, to, err) : 0;
        json_decref(data);
        data = NULL;
        if (r < 0)
            return -1;
    }
    for (size_t i = from; r == 0 && i < to; i++)
        if (!batch->items[i].outcome)
            return error_set(err, E_PROTOCOL, "the server's answer ended too early");
    return r;
}

/* Runs the items from `from` on, as many as one request takes. *ret_to: the first behind them. */
static int run_some(struct batch *batch, size_t from, size_t *ret_to, struct error *err)
{
    struct load load = {.runs = json_array()};
    cleanup_json json_t *body =
        json_pack("{s:o, s:I}", "runs", load.runs, "at_once", (json_int_t)batch->jobs);
    struct client_stream *stream = NULL;
    size_t to = from;
    int r = body ? 0 : error_memory(err);

    while (r >= 0 && to < batch->count && json_array_size(load.runs) < RUNS_MAX &&
           load.bytes < BYTES_MAX)
        r = add_item(batch, &batch->items[to++], &load, err);
    *ret_to = to;
    if (r < 0 || json_array_size(load.runs) == 0)
        return r < 0 ? -1 : 0;
    if (client_open(&batch->remote.client, "POST", "/v1/batch", body, &stream, err) < 0)
        return -1;
    r = take_answers(batch, stream, from, to, err);
    client_close(stream);
    return r;
}

int batch_run_there(struct batch *batch, struct error *err)
{
    const struct server_place place = {.url = batch->remote.server ? batch->remote.server : "auto",
                                       .token_file = batch->remote.token_file};

    if (server_open(&place, batch->config, &batch->remote.client, err) < 0)
        return -1;
    for (size_t at = 0; at < batch->count;)
        if (run_some(batch, at, &at, err) < 0)
            return err->code == E_AUTH ? error_hint(err, SERVER_TOKEN_HINT) : -1;
    return 0;
}
