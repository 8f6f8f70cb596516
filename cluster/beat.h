/* Heartbeats: what each says of itself, and the table of those that are heard.
 *
 *     {"v":1,"name":"a1","instance":"8f0c…","version":"0.1.0","clock_ms":1794000000000,
 *      "started_ms":1793000000000,"twice":false,
 *      "draining":false,"engine":true,"room":12,"running":3,"waiting":0,"sessions":2,"relays":4,
 *      "labels":["gpu"],"profiles":["open"],"environments":["default"],
 *      "spent":{"since":"2026-…","tokens":{"ci":[12,3.5,1024]}}}
 *
 * Of a gateway only the first six. Unknown members are passed over, so that versions can differ.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/error.h"
#include "cluster/cluster.h"

#define BEAT_BYTES (16 * KIB)

struct beat {
    char name[13];
    uint64_t instance; /* of the process: another one knows nothing of the exchanges of this one */
    char version[32];
    int64_t clock_ms;   /* since 1970, by its own clock */
    int64_t started_ms; /* the same, of the process */
    bool is_twice;      /* it waits: another process serves the same node */
    bool is_draining;
    bool has_engine; /* which answers */
    int64_t room;    /* runs that could begin at once */
    int64_t running, waiting, sessions;
    int64_t relays; /* requests under way */
    json_t *spent;  /* what its engine has counted for tokens (admit/spent.h); or NULL */
    json_t *labels, *profiles, *environments; /* arrays of strings; NULL: none, or not known */
};

void beat_done(struct beat *beat);

/* Adds the text. `is_node`: with the members of a node. */
int beat_write(const struct beat *beat, bool is_node, struct buf *out, struct error *err);

/* E_INVALID, E_TOO_LARGE. The caller frees it with beat_done(). */
int beat_read(const char *text, size_t len, struct beat *ret_beat, struct error *err);

/* Of two processes that serve one node: whether `beat` is of the one that goes on. Both know. */
bool beat_goes_first(const struct beat *beat, const struct beat *other);

/* Whether its numbers can be reckoned with. */
bool beat_is_in_range(const json_t *object);

struct member {
    TAILQ_ENTRY(member) link;
    struct beat beat;
    uint64_t instance_before; /* two processes with one name take turns */
    uint64_t heard_ns;
    uint64_t unreached_ns; /* since when the bus delivers it nothing, though it is heard; or 0 */
    uint64_t late_ns;      /* when it was first heard, or again after a gap */
    int64_t sent; /* fresh work that was offered to it since it said how much room it has, less what
                   * has ended */
};

TAILQ_HEAD(member_list, member);

struct members {
    struct member_list list;
    size_t count;
};

void members_init(struct members *members);
void members_done(struct members *members);

/* Takes the beat over, also where it is not kept. *ret_is_new: it was not known, or is another
 * process under the same name. NULL: there are too many, or there is no memory. */
struct member *members_hear(struct members *members, struct beat *beat, uint64_t now_ns,
                            bool *ret_is_new);

/* NULL: it is not known. */
struct member *members_find(const struct members *members, const char *name);

/* It has said how much room it has, between two heartbeats. */
void member_has_room(struct member *member, int64_t room);

/* Two of its heartbeats were missing just now: what comes from it may have been on the way for so
 * long that it has given up. NULL: it was not heard at all. */
bool member_is_late(const struct member *member, uint64_t now_ns);

void member_forget(struct members *members, struct member *member);

/* One that has been silent for so long, or NULL. */
struct member *members_silent(const struct members *members, uint64_t now_ns, uint64_t ms);

/* Whether `word` is in such a list. */
bool beat_lists(const json_t *list, const char *word);
