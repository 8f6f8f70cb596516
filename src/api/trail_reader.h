/* Requests that read the audit trail: each is a worker's task (api/worker.h), since finding a
 * record may bring the index up to date, and verifying reads everything. Of these there are few at
 * once, and no caller has all of them. A worker ends with its client.
 */
#pragma once

#include "api/api.h"
#include "api/worker.h"
#include "audit/index.h"
#include "audit/when.h"

#define TRAIL_LOOKS_MAX   20000      /* records that one page of a search reads */
#define TRAIL_SHOWN_BYTES (16 * MIB) /* of records, in one answer */
#define TRAIL_FIND_MS     60000      /* for a search */

/* The order of a worker. Its texts are the request's. */
struct trail_wish {
    char *dir;
    const char *trail_dir; /* of the settings */
    struct index_filter filter;
    char since[WHEN_SIZE], until[WHEN_SIZE];
    bool is_of_all; /* an operator asks for everybody's */
};

void trail_wish_done(struct trail_wish *wish);

/* E_NOT_FOUND: there is no trail. */
int trail_wish_open(const struct api *api, struct trail_wish *wish, struct error *err);

/* The fields of a query that all lists have: since, until, after, before, limit, text, session. */
int trail_wish_read(const struct request *request, struct trail_wish *wish, struct error *err);

/* Lets the filter find only what the caller may see: its own records, from the creation of its
 * token on; or, for operators, those that `all` and `owner` of the query ask for. E_DENIED. */
int trail_wish_restrict(const struct request *request, struct trail_wish *wish, struct error *err);

/* The machine that has the trail: a gateway sends the request there. */
#define TRAIL_NODE_FIELD                                                                           \
    {                                                                                              \
        "node", SCHEMA_STRING, .max_len = 12,                                                      \
                               .help = "at a gateway: the machine whose trail it is"               \
    }

/* E_NOT_FOUND: the query names another machine than this one. */
int trail_check_node(const struct request *request, struct error *err);

/* The fields that all these lists have, each with a comma behind it. */
/* clang-format off */
#define TRAIL_LIST_MAX     1000
#define TRAIL_LIST_DEFAULT 100
#define TRAIL_LIST_FIELDS                                                                          \
    {"owner", SCHEMA_STRING, .max_len = 64, .help = "only those of this token"},                   \
    {"text", SCHEMA_STRING, .max_len = 256,                                                        \
     .help = "only records that contain this text, without regard to case"},                       \
    {"since", SCHEMA_STRING, .max_len = 32, .help = "2h, 7d, 2026-01-31 or 2026-01-31T12:00 (UTC)"}, \
    {"until", SCHEMA_STRING, .max_len = 32, .help = "like `since`"},                               \
    {"after", SCHEMA_INTEGER, .min = 0, .max = 1e15, .help = "only records after the one with this number"}, \
    {"before", SCHEMA_INTEGER, .min = 1, .max = 1e15,                                              \
     .help = "only records before the one with this number: `next` of the page before"}
/* clang-format on */

/* In the worker: one page of records as {KEY: [ROW…], "next", "newest"}. `add` inserts a row into
 * the array that it gets as `user`. */
int trail_list(const struct trail_wish *wish, index_fn add, const char *key, json_t **ret_answer,
               struct error *err);

/* Both optional but `answer`. `answer` is only lent. */
struct trail_listener {
    void (*on_answer)(struct request *request, void *user, json_t *answer);
    void (*on_progress)(struct request *request, void *user, const json_t *line);
    void (*on_error)(struct request *request, void *user, struct error *err);
    void (*free)(void *user);
    void *user;
};

/* Starts it for the request, and answers later: with what the worker answers, unless the listener
 * does. `user` is freed in any case. */
int trail_read(struct request *request, const struct worker_task *task,
               const struct trail_listener *listener, struct error *err);
