/* The share of a batch that a gateway gives to one machine of a cluster.
 *
 * The gateway sends the whole batch to each machine, so that each refuses it as one machine would,
 * numbers its runs alike and knows the same keys. The header `Belljar-Batch-Part` says which runs
 * are this machine's: "0-99,205", then optionally ";at_once=4" and ";checked", where another share
 * of the same batch was accepted before.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "wire/pack.h"

#define BATCH_PART_HEADER "belljar-batch-part"

struct batch_part {
    size_t total;   /* runs that it has */
    size_t at_once; /* of them at a time; 0: no limit of its own */
    bool is_checked;
};

/* Sets `is_in` of each run that belongs to it; there are `count`, and none is set. E_INVALID. */
int batch_part_read(struct span text, size_t count, bool *is_in, struct batch_part *ret_part,
                    struct error *err);
