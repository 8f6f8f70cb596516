/* Several messages in one array. Only the revision of 2025-03-26 had them. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "front/mcp_internal.h"

#define BATCH_MAX 64

struct mcp_batch {
    struct mcp_peer *peer;
    struct mcp_batch *next; /* of the peer */
    struct mcp_exchange *outer;
    json_t *answers;
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
    struct mcp_batch **at = &batch->peer->batches;

    while (*at != batch)
        at = &(*at)->next;
    *at = batch->next;
    batch->outer->batch = NULL;
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

static void on_finish(struct mcp_exchange *exchange, const json_t *answer, int status)
{
    struct item *item = item_of(exchange);
    struct mcp_batch *batch = item->batch;

    (void)status;
    item->is_open = false;
    if (answer)
        (void)json_array_append(batch->answers, (json_t *)answer);
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

/* What may not be in a batch, or NULL. */
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
    batch->next = peer->batches;
    peer->batches = batch;
    batch->outer = exchange;
    batch->answers = json_array();
    batch->count = count;
    batch->n_open = count + 1; /* it ends behind the last of them, not in between */
    exchange->batch = batch;
    for (size_t i = 0; i < count; i++) {
        batch->items[i] = (struct item){
            .exchange = {.send = on_send, .finish = on_finish, .is_behind = on_behind},
            .batch = batch,
            .is_open = true,
        };
        mcp_peer_receive(peer, json_incref(json_array_get(messages, i)), &batch->items[i].exchange);
    }
    json_decref(messages);
    if (--batch->n_open == 0)
        end(batch);
}
