/* Access to stored data with JSON: for programs (calls/call.h) and for the tools of the same names
 * (mcp/tool_saved_state.c, mcp/tool_skill.c).
 *
 * The types of arguments have been checked. The owner is never among the arguments.
 */
#pragma once

#include <stdint.h>

#include <jansson.h>

#include "base/error.h"
#include "store/replica.h"
#include "store/store.h"

struct stored {
    struct store *store; /* NULL: there is no place, which is E_UNSUPPORTED */
    const char *owner;
    uint32_t reach; /* enum run_reach: the caller's grants, where they make a difference */
};

/* *ret_value is the caller's. */
typedef int (*stored_fn)(const struct stored *stored, const json_t *arguments, json_t **ret_value,
                         struct error *err);

int stored_check(const struct stored *stored, struct error *err);

/* One of these functions at work. What it reads is up to date, and what it changes is on all
 * machines that share it, before it is over (store/replica.h). */
struct stored_work {
    struct replica_wait wait; /* first: it is how the work is found again */
    struct stored stored;
    stored_fn fn;
    const json_t *arguments; /* lent */
    json_t *value;
    /* Before fn: whether things are still as they were when this was begun. Optional. */
    int (*check)(const struct stored_work *work, struct error *err);
    int64_t seen; /* for check() */
    /* It is over: `value` is there, or *err, whose words it takes. It frees the work. */
    void (*done)(struct stored_work *work, struct error *err);
    void *user;
};

/* NULL: out of memory. */
struct stored_work *stored_work_new(const struct stored *stored, stored_fn fn,
                                    const json_t *arguments,
                                    void (*done)(struct stored_work *work, struct error *err),
                                    void *user);
void stored_work_begin(struct stored_work *work);

/* One that is not over is given up: done() is not called. */
void stored_work_free(struct stored_work *work);

/* {"session_name","description"}: {"status","session_id","path","message"} */
int stored_state_create(const struct stored *stored, const json_t *arguments, json_t **ret_value,
                        struct error *err);
/* {"session_id","state","version"}: {"status","session_id","version"} */
int stored_state_save(const struct stored *stored, const json_t *arguments, json_t **ret_value,
                      struct error *err);
/* {"session_id","version"}: as of saved_state_load(), with "status" and "session_id" */
int stored_state_load(const struct stored *stored, const json_t *arguments, json_t **ret_value,
                      struct error *err);
/* {}: {"status","sessions"} */
int stored_state_list(const struct stored *stored, const json_t *arguments, json_t **ret_value,
                      struct error *err);
/* {"session_id"}: {"status","session_id"} */
int stored_state_delete(const struct stored *stored, const json_t *arguments, json_t **ret_value,
                        struct error *err);

/* {"name","code","description"}: {"status","skill_name","version","path","message"} */
int stored_skill_save(const struct stored *stored, const json_t *arguments, json_t **ret_value,
                      struct error *err);
/* {}: {"status","skills"} */
int stored_skill_list(const struct stored *stored, const json_t *arguments, json_t **ret_value,
                      struct error *err);
/* {"skill_name","version"}: as of skill_load(), with "status" */
int stored_skill_load(const struct stored *stored, const json_t *arguments, json_t **ret_value,
                      struct error *err);
/* {"skill_name"}: {"status","skill_name"} */
int stored_skill_delete(const struct stored *stored, const json_t *arguments, json_t **ret_value,
                        struct error *err);
