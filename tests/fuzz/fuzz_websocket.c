/* Any bytes as what a client sends on a WebSocket: read in one piece and byte by byte, the same
 * payload comes out and the same end; pieces keep to the order that the engine checks, and messages
 * to their limit. Payloads are then read as messages of Jupyter's.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/limits.h"
#include "compat/jupyter_message.h"
#include "http/websocket_frame.h"

#define MESSAGE_MAX 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct outcome {
    size_t total;
    uint64_t sum;
    unsigned last;
    int code;
};

static void check_message(const uint8_t *data, size_t len)
{
    for (int is_binary = 0; is_binary < 2; is_binary++) {
        struct jupyter_message m = {0};
        struct error err = {0};

        if (jupyter_message_read((const char *)data, len, is_binary, &m, &err) == 0) {
            if (!json_is_object(m.content) || !json_is_object(m.header) ||
                m.channel >= JUPYTER_CHANNELS)
                abort();
            jupyter_message_done(&m);
        } else if (err.code != E_INVALID && err.code != E_TOO_LARGE) {
            abort();
        }
        error_done(&err);
    }
}

static void take(struct outcome *o, struct websocket_order *order,
                 const struct websocket_piece *piece)
{
    if (websocket_order_next(order, piece->flags, piece->len) != 0 || order->length > MESSAGE_MAX)
        abort(); /* the engine would end the listener */
    for (size_t i = 0; i < piece->len; i++)
        o->sum = o->sum * 31 + piece->data[i];
    o->total += piece->len;
    if (piece->flags & WEBSOCKET_LAST)
        o->last++;
}

/* `step`: bytes that come at once. */
static struct outcome run(const uint8_t *data, size_t len, size_t step)
{
    struct websocket_reader reader = {.order.max = MESSAGE_MAX};
    struct websocket_order order = {.max = MESSAGE_MAX};
    struct outcome o = {0};
    uint8_t *bytes = malloc(len + 1);
    size_t at = 0, there = 0, used;
    struct websocket_piece piece;
    int r = 0;

    if (!bytes)
        abort();
    memcpy(bytes, data, len);
    while (r >= 0 && there < len) {
        there = len - there < step ? len : there + step;
        do {
            r = websocket_read(&reader, bytes + at, there - at, &piece, &used, &o.code);
            if (used > there - at)
                abort();
            if (r > 0)
                take(&o, &order, &piece);
            at += used;
        } while (r > 0 && at < there);
    }
    o.code = r < 0 ? o.code : 0;
    free(bytes);
    return o;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct outcome whole = run(data, len, len ? len : 1), slow = run(data, len, 1);

    if (whole.total != slow.total || whole.sum != slow.sum || whole.last != slow.last ||
        whole.code != slow.code)
        abort();
    check_message(data, len);
    return 0;
}
