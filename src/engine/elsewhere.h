/* Programs and sessions that are not in sandboxes of this host (src/vm).
 *
 * The engine decides, counts, records and masks as ever; this only says where the work is done.
 * Calls answer from the loop, never from within the call.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/run.h"

struct away;      /* a session there */
struct away_file; /* one request for its files */
struct http_head; /* base/http1.h */

struct away_order {
    const struct run_terms *terms; /* of all cells; outlive the session there */
    uint64_t idle_ms, lifetime_ms; /* for the case that this host forgets it; 0: none */
};

struct away_events {
    void (*on_open)(void *owner); /* it takes cells */
    void (*on_done)(void *owner, struct run *cell);
    void (*on_restarted)(void *owner); /* it takes cells again */
    /* Nothing of it is left for this host, and `away` is not valid any more. `cell`: that ran, or
     * NULL. `err`: why, or E_NONE when it was closed. */
    void (*on_gone)(void *owner, struct run *cell, struct error *err);
};

/* The answer to a request for files. After on_end or on_failed nothing follows, and the request is
 * not valid any more. */
struct away_file_events {
    int (*on_head)(void *user, const struct http_head *head, struct error *err);
    int (*on_piece)(void *user, const char *data, size_t len, struct error *err);
    void (*on_end)(void *user);
    void (*on_failed)(void *user, const struct error *err);
    void (*on_room)(void *user); /* more of the body can be written. Optional */
};

struct away_file_order {
    const char *method;
    const char *target;  /* behind the path of the session: "/files?depth=1" */
    const char *headers; /* lines with their CR LF, or NULL */
    const char *body;    /* JSON, or NULL */
    bool is_upload;      /* its body comes with file_write() */
    const struct away_file_events *events;
    void *user;
};

/* Runs programs in place of the sandboxes of this host. */
struct elsewhere {
    void *user;
    /* The run is that one's until pool_finish(), which may be called from here. */
    void (*start)(void *user, struct run *run);
    /* Ends it: nothing more is done for it, and pool_finish() is not called. */
    void (*cancel)(void *user, struct run *run);
    /* Output of a run or cell: stops, or flows again. */
    void (*hold)(void *user, struct run *run, bool is_held);

    /* E_UNSUPPORTED: a session with these terms cannot be there, and what of them. */
    int (*check)(void *user, const struct run_terms *terms, struct error *err);
    /* NULL: out of memory. */
    struct away *(*open)(void *user, const struct away_order *order,
                         const struct away_events *events, void *owner);
    /* One at a time; on_done follows. */
    void (*cell)(struct away *away, struct run *cell);
    void (*interrupt)(struct away *away);
    void (*restart)(struct away *away, enum run_language language);
    /* on_gone follows. */
    void (*close)(struct away *away);
    /* Sessions that were closed are gone when it returns. */
    void (*settle)(void *user);

    /* NULL: out of memory. */
    struct away_file *(*file)(struct away *away, const struct away_file_order *order);
    void (*file_hold)(struct away_file *file, bool is_held);
    /* True: there is room for more; else on_room follows. */
    bool (*file_write)(struct away_file *file, const void *data, size_t len);
    void (*file_written)(struct away_file *file); /* the body is whole */
    void (*file_free)(struct away_file *file);    /* nothing follows. Accepts NULL */
};
