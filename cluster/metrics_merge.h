/* Figures of several nodes as one: their texts for Prometheus, and their objects of /v1/stats.
 *
 * A node's text is checked line by line, and each series gets the label `node`, which no node can
 * set itself. So a node that answers wrongly spoils only what is said of it. Names that the gateway
 * uses for its own series are refused from nodes.
 */
#pragma once

#include <jansson.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/span.h"

/* Of one node, and of all. */
#define METRICS_NODE_BYTES (256 * KIB)
#define METRICS_ALL_BYTES  (64 * MIB)

/* Names of metrics, of all nodes together. */
#define METRICS_NAMES_MAX 512

struct metrics_merge;

struct metrics_merge *metrics_merge_new(void); /* NULL: out of memory */
void metrics_merge_free(struct metrics_merge *m);

/* E_INVALID: it is no such text, and nothing of it is taken. */
int metrics_merge_add(struct metrics_merge *m, const char *node, struct span text,
                      struct error *err);

/* Adds the text of all: the series of one metric stand together, as the format wants it. */
int metrics_merge_write(const struct metrics_merge *m, struct buf *out, struct error *err);

/* Adds the numbers of `from` to those of `to`, an object of the same form: members by their names,
 * members of lists by their `name`. What is no number stays as it is in `to`. */
void figures_add(json_t *to, const json_t *from);
