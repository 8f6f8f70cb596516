/* Skills and states that several machines share (store/replica.h) are brought up to date before
 * they are used. */
#pragma once

#include <stdbool.h>

#include "http/request.h"
#include "store/replica.h"

struct api;

/* Embedded, and zeroed before its first use. */
struct store_read {
    struct replica_wait wait; /* first: it is how the read is found again */
    struct loop_watch *clock;
    void (*fn)(void *arg);
    void *arg;
};

/* `fn` follows, now or later. If the bus takes long, the copy of this machine has to do. */
void store_read_begin(struct store_read *read, const struct api *api, const char *owner,
                      void (*fn)(void *arg), void *arg);

/* `fn` is not called. Nothing if it was. */
void store_read_end(struct store_read *read);

/* Whether a program may import skills: then it says that word. */
bool store_read_is_needed(const char *code, size_t len);

/* Before a request is handled that may use them. False: there is no need. True: `then` follows,
 * unless the client goes away. */
bool store_read_first(struct request *request, void (*then)(struct request *request));
