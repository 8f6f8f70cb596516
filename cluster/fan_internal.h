/* Shared by the files that make one answer of those of all nodes. */
#pragma once

#include "cluster/gateway_internal.h"
#include "cluster/list_merge.h"

struct follow;
struct spread;

struct part {
    char node[13];
    int status; /* 0: none has come */
    struct buf body;
    bool is_over, is_lost;
    bool has_no_engine;
};

struct fan {
    struct exchange *x; /* who began it */
    bool is_find;
    struct follow *follow; /* it is a stream of events; or NULL */
    struct spread *spread; /* it is a batch; or NULL */
    struct http_head head;
    char target[1024];
    struct part parts[CLUSTER_NAMES_MAX];
    size_t n_parts, n_over;
    bool is_beginning; /* not all have been asked */
};

/* NULL: x was refused, and is gone. */
struct fan *fan_make(struct exchange *x);

/* What it has answered; NULL: nothing, or not with 200, or no JSON. */
json_t *fan_part_json(const struct part *part);

/* The client's request, to be answered; the exchange has it no longer. */
struct request *fan_take_request(struct fan *fan);

/* In that node's words. */
void fan_answer_refused(struct fan *fan, const struct part *refused);

/* --- fan_audit.c, fan_figures.c; the caller frees the exchange --- */

void fan_answer_records(struct fan *fan);
void fan_answer_nodes(struct fan *fan);

/* Answers as a node did that refused, where none has answered. Those whose token no engine has
 * checked get nothing of the gateway's own. */
bool fan_is_refused(struct fan *fan);
void fan_answer_metrics(struct fan *fan);
void fan_answer_stats(struct fan *fan);

/* --- follow.c: a fan whose parts are streams of events --- */

void follow_take_head(struct fan *fan, struct part *part, struct exchange *x);

/* False: the client is behind, and the node is to wait. */
bool follow_take_data(struct fan *fan, struct part *part, const void *data, size_t len);
void follow_end_part(struct fan *fan, struct part *part);
void follow_tick(struct fan *fan, uint64_t now_ns);
void follow_drained(struct fan *fan);
void follow_free(struct follow *follow); /* accepts NULL */

/* --- spread.c: a fan whose parts are shares of a batch --- */

void spread_take_head(struct fan *fan, const struct part *part, struct exchange *x);

/* False: the client is behind, and the node is to wait. */
bool spread_take_data(struct fan *fan, struct part *part, const void *data, size_t len);

/* The fan may be gone after these three, with its exchange. */
void spread_end_part(struct fan *fan, struct part *part);
void spread_tick(struct fan *fan, uint64_t now_ns);
void spread_drained(struct fan *fan);
void spread_free(struct spread *spread); /* accepts NULL */
