/* One list, made of those that nodes have answered. What a node says is not believed to be a list.
 */
#pragma once

#include "base/json.h"
#include "base/limits.h"
#include "base/span.h"

/* Of one node: its text, and the memory that is needed for it; some 10,000 sessions. And the texts
 * of all nodes together. */
#define LIST_ANSWER_BYTES  (8 * MIB)
#define LIST_ANSWER_MEMORY (64 * MIB)
#define LIST_ALL_BYTES     (64 * MIB)

struct list_merge {
    const char *name; /* of the member that is the list */
    json_t *all;      /* its items, of all nodes */
    json_t *lost;     /* names of nodes */
    size_t bytes;     /* of the answers */
    json_t *form;     /* the first answer, whose other members are those of the whole */
};

/* -1: out of memory. */
int list_merge_init(struct list_merge *merge, const char *name);
void list_merge_done(struct list_merge *merge);

/* The answer of that node. One that cannot be read counts as lost. */
void list_merge_add(struct list_merge *merge, const char *node, const char *text, size_t len);
void list_merge_lose(struct list_merge *merge, const char *node);

/* The newest first, as every node has them, and no more than `limit`. NULL: out of memory. */
json_t *list_merge_end(struct list_merge *merge, size_t limit);

/* The limit that the query of a request asks for, or `fallback`; 0 is none. */
size_t list_merge_limit(struct span query, size_t fallback);
