/* Which node has a session's name, or an idempotency key: buckets of JetStream, in which a key is
 * written by one alone.
 *
 * libnats waits for its answers, so they are asked for on a thread, one after the other. A gateway
 * remembers what it has learned (cluster/names.h), so that only the first request for a name waits.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/loop.h"

#define KEEP_NAMES_BUCKET "belljar_names"
#define KEEP_KEYS_BUCKET  "belljar_keys"
#define KEEP_SUBJECTS     "$KV." KEEP_NAMES_BUCKET "."
#define KEEP_KEY_SIZE     64

struct keep;
struct bus;

enum keep_bucket {
    KEEP_NAMES, /* belljar_names */
    KEEP_KEYS,  /* belljar_keys: entries go when an engine forgets the key, too */
};

enum keep_result {
    KEEP_FOUND,   /* `node` has it, or has it now */
    KEEP_NONE,    /* nobody has it */
    KEEP_AWAY,    /* the bucket cannot be asked now */
    KEEP_NOT_HAD, /* the servers have no JetStream */
};

struct keep_answer {
    enum keep_result result;
    char node[13];
    uint64_t revision;
    bool is_new; /* it was written for this question */
};

enum keep_question {
    KEEP_GET,
    KEEP_CLAIM, /* for `node`, where nobody has it */
    KEEP_TAKE,  /* for `node`, from whoever had it at that revision */
    KEEP_DROP,  /* `node` does not have it any more */
};

/* A drop waits for so long, and is not done if the entry was written meanwhile: until then somebody
 * may be on the way to open it there again. */
#define KEEP_REST_MS 5000

struct keep_request; /* until it is answered or forgotten */

typedef void (*keep_fn)(void *user, const struct keep_answer *answer);

int keep_new(struct loop *loop, struct bus *bus, int replicas, struct keep **ret_keep,
             struct error *err);
void keep_close(struct keep *keep);

/* NULL: out of memory. `fn` is called from the loop; NULL: nobody wants to know. */
struct keep_request *keep_ask(struct keep *keep, enum keep_bucket bucket,
                              enum keep_question question, const char *key, const char *node,
                              uint64_t revision, keep_fn fn, void *user);

/* The answer is not wanted any more. */
void keep_forget(struct keep_request *request);
