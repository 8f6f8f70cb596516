/* Several messages in one array. Only the revision of 2025-03-26 had them. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "mcp/internal.h"

#define BATCH_MAX 64

/* Answers of one batch are written as one text. What would make it longer is left out, and messages
 * behind it are not looked at. */
#define ANSWERS_BYTES (2 * MIB)

struct mcp_batch {
    struct mcp_peer *peer;
    LIST_ENTRY(mcp_batch) link; /* of the peer */
    struct mcp_exchange *outer;
    json_t *messages, *answers;
    size_t answer_bytes;
    struct loop_work work;
    size_t n_begun;
    size_t n_open;
    size_t count;
    struct item {
        struct mcp_exchange exchange;
        struct mcp_batch *batch;
        bool is_open;
    } items[];
};

/* The exchange is the first of the item. */
static struct item *item_of(struct mcp_exchange *exchange)
{
    return (struct item *)exchange;
}

static void on_send(struct mcp_exchange *exchange, const json_t *message)
{
    struct mcp_exchange *outer = item_of(exchange)->batch->outer;

    outer->send(outer, message);
}

/* Progress of what is in a batch waits for its reader as any other does. */
static bool on_behind(const struct mcp_exchange *exchange)
{
    const struct mcp_exchange *outer = ((const struct item *)exchange)->batch->outer;

    return outer->is_behind && outer->is_behind(outer);
}

static void free_batch(struct mcp_batch *batch)
{
    LIST_REMOVE(batch, link);
    batch->outer->batch = NULL;
    loop_work_cancel(&batch->work);
    json_decref(batch->messages);
    free(batch);
}

static void end(struct mcp_batch *batch)
{
    struct mcp_exchange *outer = batch->outer;
    json_t *answers = batch->answers;

    free_batch(batch);
    if (json_array_size(answers))
        outer->finish(outer, answers, 200);
    else
        outer->finish(outer, NULL, 202);
    json_decref(answers);
}

/* About what it takes as a text, without its escapes. */
static size_t size_of(const json_t *value)
{
    const json_t *item;
    const char *key;
    size_t i, size = 8;

    if (json_is_string(value))
        return size + json_string_length(value);
    json_array_foreach(value, i, item)
    {
        size += size_of(item);
    }
    json_object_foreach((json_t *)value, key, item)
    {
        size += strlen(key) + size_of(item);
    }
    return size;
}

static void add_answer(struct mcp_batch *batch, const json_t *answer)
{
    size_t size = size_of(answer);
    json_t *instead;

    if (!batch->answer_bytes || size <= ANSWERS_BYTES - batch->answer_bytes) {
        batch->answer_bytes += size < ANSWERS_BYTES ? size : ANSWERS_BYTES;
        (void)json_array_append(batch->answers, (json_t *)answer);
        return;
    }
    instead = mcp_error_json(json_object_get(answer, "id"), MCP_INTERNAL_ERROR,
                             "it was done, but the answers of this batch are too large together: "
                             "send fewer messages at once");
    (void)json_array_append_new(batch->answers, instead);
}

static void on_finish(struct mcp_exchange *exchange, const json_t *answer, int status)
{
    struct item *item = item_of(exchange);
    struct mcp_batch *batch = item->batch;

    (void)status;
    item->is_open = false;
    if (answer)
        add_answer(batch, answer);
    if (--batch->n_open == 0)
        end(batch);
}

void mcp_batch_gone(struct mcp_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        if (batch->items[i].is_open)
            mcp_exchange_gone(&batch->items[i].exchange);
    json_decref(batch->answers);
    free_batch(batch);
}

/* The reason why a message may not be in a batch, or NULL. */
static const char *check(const struct mcp_peer *peer, const json_t *messages)
{
    const json_t *message;
    size_t i;

    if (!peer->version || strcmp(peer->version, "2025-03-26") != 0)
        return "batches were removed from the protocol in 2025-06-18";
    if (json_array_size(messages) == 0)
        return "an empty batch";
    if (json_array_size(messages) > BATCH_MAX)
        return "too many messages in one batch";
    json_array_foreach(messages, i, message)
    {
        struct mcp_sorted sorted;

        mcp_sort(message, (struct span){0}, &sorted);
        if (sorted.kind == MCP_BATCH || sorted.is_initialize || sorted.era == MCP_MODERN)
            return "a batch may not have `initialize`, batches or messages of other versions";
    }
    return NULL;
}

static void begin(struct mcp_batch *batch, struct item *item, json_t *message)
{
    const json_t *id = json_object_get(message, "id");
    json_t *answer;

    *item = (struct item){
        .exchange = {.send = on_send, .finish = on_finish, .is_behind = on_behind},
        .batch = batch,
        .is_open = true,
    };
    batch->n_open++;
    if (batch->answer_bytes < ANSWERS_BYTES || !id) {
        mcp_peer_receive(batch->peer, json_incref(message), &item->exchange);
        return;
    }
    answer = mcp_error_json(id, MCP_INTERNAL_ERROR,
                            "it was not done, because the answers before it fill the batch: send "
                            "fewer messages at once");
    (void)json_array_append_new(batch->answers, answer);
    on_finish(&item->exchange, NULL, 0);
}

/* Each message may be as dear as a request of its own: while the loop is late, the others wait for
 * the next turn of their caller. */
static void go_on(void *arg)
{
    struct mcp_batch *batch = arg;
    struct mcp_peer *peer = batch->peer;
    struct loop *loop = peer->server->options.loop;

    do {
        struct item *item = &batch->items[batch->n_begun];

        begin(batch, item, json_array_get(batch->messages, batch->n_begun++));
    } while (batch->n_begun < batch->count && !loop_is_late(loop));
    if (batch->n_begun < batch->count)
        loop_line_post(loop, peer->caller ? &peer->caller->line : NULL, &batch->work, go_on, batch);
    else if (--batch->n_open == 0)
        end(batch);
}

void mcp_batch_receive(struct mcp_peer *peer, json_t *messages, struct mcp_exchange *exchange)
{
    const char *mistake = check(peer, messages);
    size_t count = json_array_size(messages);
    struct mcp_batch *batch =
        mistake ? NULL : calloc(1, sizeof(*batch) + count * sizeof(batch->items[0]));
    json_t *answer;

    if (!batch) {
        answer = mcp_error_json(NULL, mistake ? MCP_INVALID_REQUEST : MCP_INTERNAL_ERROR,
                                mistake ? mistake : "out of memory");
        json_decref(messages);
        exchange->finish(exchange, answer, 400);
        json_decref(answer);
        return;
    }
    batch->peer = peer;
    LIST_INSERT_HEAD(&peer->batches, batch, link);
    batch->outer = exchange;
    batch->messages = messages;
    batch->answers = json_array();
    batch->count = count;
    batch->n_open = 1; /* it ends behind the last of them, not in between */
    exchange->batch = batch;
    go_on(batch);
}
