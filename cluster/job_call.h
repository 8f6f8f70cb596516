/* One request to the engine of this machine, with the token of a job's owner. */
#pragma once

#include <event2/buffer.h>

#include "base/buf.h"
#include "base/loop.h"

struct job_call;

/* `status` 0: there was no whole answer. The call is gone. `body` is the receiver's to take. */
typedef void (*job_call_fn)(void *user, int status, struct buf *body);

struct job_call_order {
    const char *socket;
    const char *method, *target;
    const char *credentials; /* a header without its end of line */
    const struct buf *body;  /* JSON, or NULL */
    size_t max_answer;
    job_call_fn fn;
    void *user;
};

/* NULL: the engine cannot be reached. */
struct job_call *job_call_begin(struct loop *loop, const struct job_call_order *order);

/* Without an answer. Accepts NULL. */
void job_call_free(struct job_call *call);
