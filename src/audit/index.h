/* Finds records: an index in SQLite beside the trail's files, which are the truth.
 *
 * Writers know nothing of it. Whoever asks brings it up to date first; where it does not fit the
 * files any more, or is damaged, it is made anew. It holds where each record is and what it is
 * looked for by, and no more of its text than the first line of a program.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/error.h"

struct index;

int index_open(const char *dir, struct index **ret_index, struct error *err);
void index_close(struct index *index);

/* The filter; NULL and 0 match anything. Times compare as text, in UTC. */
struct index_filter {
    const char *since, *until;
    const char *kind, *status, *owner, *session, *language;
    const char *text; /* anywhere in the record, without regard to case */
    const char *id;   /* of a run or a session, a correlation id, or a sequence number */
    const char *run;  /* the id of a run, and what else has it: calls, connections */
    uint64_t after;   /* only records behind this one */
    uint64_t before;  /* only records before this one; 0: any */
    size_t limit;     /* the newest so many; 0: all */
    size_t looks;     /* reads at most so many records for one page; 0: any */
    bool has_starts;  /* also the beginnings of runs that have ended */
    bool is_of_runs;  /* only runs: ended ones, and those that only began */
};

struct index_row {
    uint64_t seq;
    const char *time, *kind, *event, *id, *owner, *session, *status, *profile, *summary;
    double wall_ms; /* below 0: unknown */
};

/* Calls `fn` with each, oldest first; what it gets is only lent. `line` is the record, without its
 * newline; `start` that of the beginning of a run, or NULL. A negative answer ends it. */
typedef int (*index_fn)(void *user, const struct index_row *row, const struct buf *line,
                        const struct buf *start, struct error *err);

/* The record as the caller's own, with the texts that another record has for it. A text that is not
 * there any more is marked `is_missing`. NULL: it cannot be read. */
json_t *index_load(struct index *index, const struct buf *line);

/* Whether another record has texts for it. */
bool index_refers(const struct buf *line);

int index_find(struct index *index, const struct index_filter *filter, index_fn fn, void *user,
               struct error *err);

/* Records a page at a time, the newest first: the next page is what lies `before` `next`. */
struct index_page {
    uint64_t next;   /* 0: there is nothing more */
    uint64_t newest; /* the last record that the index knows */
};

int index_find_page(struct index *index, const struct index_filter *filter, index_fn fn, void *user,
                    struct index_page *ret_page, struct error *err);

/* The run before (or behind) this record in the trail, of that owner unless it is NULL, that began
 * at `since` or later unless that is NULL. "": there is none. */
int index_neighbour(struct index *index, uint64_t seq, bool is_behind, const char *owner,
                    const char *since, char ret_id[64], struct error *err);
