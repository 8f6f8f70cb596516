/* One request to the engine inside, and its answer as it comes. The machine is a stranger: heads
 * and framing are read by base/http1.h, and what is in a body is its reader's to check.
 *
 * When the answer is read, the connection is closed; a connection that is closed before ends what
 * the request began.
 */
#pragma once

#include "base/http1.h"
#include "base/loop.h"
#include "vm/keeper.h"

struct ask;

/* After on_end or on_failed nothing follows. In these two and in on_sent, the ask may be freed; not
 * in the others. */
struct ask_events {
    int (*on_head)(void *user, const struct http_head *head, struct error *err);
    int (*on_piece)(void *user, const char *data, size_t len, struct error *err);
    void (*on_end)(void *user);
    void (*on_failed)(void *user, const struct error *err);
    void (*on_sent)(void *user); /* it has a connection; what was to be said is on its way */
    void (*on_room)(void *user); /* little of the body is still unsent. Optional */
};

struct ask_order {
    const char *method, *path;
    const char *headers;    /* lines with their CR LF, or NULL */
    const struct buf *body; /* JSON, or NULL */
    bool is_upload;         /* the body comes with ask_write(), of any length */
    bool is_eager;          /* it may start the machine */
};

/* NULL: out of memory. The events follow, from the loop. */
struct ask *ask_new(struct loop *loop, struct keeper *keeper, const struct ask_order *order,
                    const struct ask_events *events, void *user);

/* Nothing follows. Accepts NULL. */
void ask_free(struct ask *ask);

/* Stops reading the answer, or goes on. */
void ask_hold(struct ask *ask, bool is_held);

/* True: there is room for more. False: on_room follows. */
bool ask_write(struct ask *ask, const void *data, size_t len);
void ask_written(struct ask *ask); /* the body is whole */
