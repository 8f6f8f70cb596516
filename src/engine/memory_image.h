/* An image as the supervisor has it: sealed files, one with the memory of a quiet Python kernel,
 * one with its sandbox's files, one with its overlays, and the earlier images its pages refer to.
 * The supervisor never maps or parses them.
 *
 * An image holds everything the session saw, secrets included. It is never offered to a client,
 * lives in memory only, and goes with the last session or snapshot that refers to it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/run.h"
#include "sandbox/overlay.h"

struct memory_image {
    uint64_t mark; /* of who counted it last */
    unsigned refs;
    int memory, files;
    int overlays;          /* packed, of copy-on-write grants; -1: there are none */
    struct overlays *past; /* what was known of them (sandbox/overlay.h), or NULL */
    int64_t taken_ns;      /* by the clock of conflicts */
    struct memory_image *parents[WIRE_IMAGES_MAX]; /* oldest first */
    size_t n_parents;
    uint32_t cells;              /* the source had run by then */
    bool was_lost[WIRE_KERNELS]; /* it had taken the place of another, which nobody was told yet */
    struct buf bash;  /* how the Bash of a copy begins, see WIRE_BASH_LOAD; empty: afresh */
    const char *lost; /* what of the session is not in it, in words; NULL: nothing */
};

/* An empty one with room for what a session of these limits can have. `origin`: what the source is
 * a copy of, or NULL. *is_flat: it shall refer to none; set where the chain is full, and it must.
 */
int image_new(const struct run_limits *limits, struct memory_image *origin,
              struct memory_image **ret_image, bool *is_flat, struct error *err);

/* Room for the overlays of the source. Accepts NULL: it has none. */
int image_add_overlays(struct memory_image *image, const struct run_limits *limits,
                       const struct overlays *overlays, struct error *err);

struct memory_image *image_ref(struct memory_image *image);
void image_unref(struct memory_image *image); /* accepts NULL */

/* Nothing in it changes from here on. Before any copy gets it. */
int image_seal(struct memory_image *image, struct error *err);

/* Bytes of memory that it takes with all images it refers to, those with `mark` excepted, which
 * they have from here on. A new mark is not 0, and larger than those before. Accepts NULL. */
uint64_t image_count(struct memory_image *image, uint64_t mark);

/* Bytes of memory that it takes, without those it refers to. */
uint64_t image_bytes(const struct memory_image *image);

/* Room for memory and for files, and for both in a cgroup. */
uint64_t image_memory_max(const struct run_limits *limits);
uint64_t image_files_max(const struct run_limits *limits);
