/* The whole output of a run, past what memory keeps of it: one unnamed file per stream, read by
 * bytes, by lines, or by a regular expression.
 *
 * A spool takes what the program writes from the first byte on, up to LIMIT_SPOOL_BYTES; what comes
 * afterwards is counted and not kept. It never fails a run: a full disk is a spool that ends early.
 * A spool directory says where the files are and bounds them all together; it outlives its spools.
 *
 * Every reading call does a bounded amount of work and says where to go on.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/pattern.h"

struct spool_directory;
struct spool;

/* Files without a name in `dir`; where that file system has none of those, or `dir` is NULL, in
 * memory. `limit`: bytes of all spools together. */
int spool_directory_new(const char *dir, uint64_t limit, struct spool_directory **ret_spools,
                        struct error *err);
void spool_directory_free(struct spool_directory *spools);
uint64_t spool_directory_used(const struct spool_directory *spools);

/* `used`: the bytes of all spools of its owner, who has a share (base/share.h); the number outlives
 * the spool. NULL: nobody shares the directory. */
int spool_new(struct spool_directory *spools, uint64_t *used, struct spool **ret_spool,
              struct error *err);
void spool_free(struct spool *spool);

void spool_add(struct spool *spool, const void *data, size_t len);

struct spool_info {
    uint64_t size;    /* bytes kept, all from the beginning */
    uint64_t dropped; /* bytes after them that were not */
    uint64_t lines;   /* in what was kept; a last one without its newline counts */
};

void spool_info(const struct spool *spool, struct spool_info *ret_info);

/* At most `len` bytes from `offset` on; none behind the end. Returns their number. */
ssize_t spool_read(const struct spool *spool, uint64_t offset, void *data, size_t len,
                   struct error *err);

/* --- lines --- */

/* A place in the spool: the beginning of a line, or a place inside a long one. */
struct spool_place {
    uint64_t offset;
    uint64_t line; /* from 1 */
};

/* Finds where a line begins. E_NOT_FOUND: there are fewer. */
int spool_find_line(const struct spool *spool, uint64_t line, struct spool_place *ret_place,
                    struct error *err);

/* Adds `lines` lines from *place on to `out`, at most `max` bytes (and LIMIT_SPOOL_PAGE), and moves
 * *place behind them. Returns 1 when more follows, 0 at the end. A line that does not fit is cut,
 * and *place then is inside it. */
int spool_read_lines(const struct spool *spool, struct spool_place *place, uint64_t lines,
                     size_t max, struct buf *out, struct error *err);

/* --- searching --- */

struct spool_match {
    struct spool_place place;
    const char *text; /* the line without its newline, valid during the call */
    size_t len;
    size_t start, end; /* of the first match in it */
    bool is_piece;     /* a line too long to be searched in one: this is a part of it */
};

/* Calls `on_match` for lines from *place on that match, and moves *place behind the last one looked
 * at. Ends when `on_match` says false, at the end, or when it has worked long enough. Returns 1
 * when there is more to search, 0 at the end. A line of more than LIMIT_SPOOL_LINE bytes, or
 * of fewer for a costly pattern, is searched in pieces; what stands across two is not found. */
int spool_search(const struct spool *spool, const struct pattern *pattern,
                 struct spool_place *place,
                 bool (*on_match)(void *arg, const struct spool_match *match), void *arg,
                 struct error *err);
