/* The answer of a node to its share of a batch: lines of JSON, of which those with `index` are
 * answers to runs. A line is passed on as it is, so it is read whole before: a node can answer
 * wrongly for its own runs, and not for those of others.
 */
#pragma once

#include "base/json.h"
#include "base/limits.h"
#include "wire/pack.h"

/* Of an answer: the outputs of a run at their largest, with all of it escaped. */
#define BATCH_LINE_BYTES (64 * MIB)

#define BATCH_VERDICT_MAX 32

enum batch_line {
    BATCH_LINE_NOTHING, /* white space, the summary of the share, or a run for which the node had no
                           room: it waits for another one */
    BATCH_LINE_RUN,
    BATCH_LINE_WRONG,
};

/* One line, without its end. */
enum batch_line batch_line_read(struct span line, size_t *ret_run,
                                char ret_verdict[BATCH_VERDICT_MAX]);
