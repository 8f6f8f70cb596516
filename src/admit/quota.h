/* Allowances of a caller: runs per minute, CPU seconds and bytes per hour.
 *
 * Allowances refill evenly, so that not everybody starts again at the same moment. CPU time and
 * bytes are known afterwards: a caller over its allowance can start nothing new until enough has
 * been refilled.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "admit/caller.h"
#include "base/error.h"

/* The used part of each allowance that the token has, by its name: {"runs_per_minute": 3.5}. The
 * caller's; NULL: out of memory. */
json_t *quota_used(struct caller *caller, uint64_t now_ns);

/* The allowances that machines of a cluster tell one another of (admit/spent.h), in this order:
 * runs, CPU seconds, bytes. */
#define QUOTA_ALLOWANCES 3

/* All that was counted here. False: the token has no allowance, or has used none. */
bool quota_spent(const struct caller *caller, double ret_amounts[QUOTA_ALLOWANCES]);

/* Adds amounts that another machine has counted. */
void quota_add(struct caller *caller, uint64_t now_ns, const double amounts[QUOTA_ALLOWANCES]);

/* Takes one run. E_BUSY: not now; *ret_wait_s says in how many seconds, at least 1. */
int quota_take_run(struct caller *caller, uint64_t now_ns, unsigned *ret_wait_s, struct error *err);

/* Whether bytes may be moved. E_BUSY as above. */
int quota_check_bytes(struct caller *caller, uint64_t now_ns, unsigned *ret_wait_s,
                      struct error *err);

/* More than twice what the token may use in an hour: what would go on for ever ends then. */
bool quota_is_overdrawn(struct caller *caller, uint64_t now_ns);

/* The trail took so many bytes on behalf of the caller, which quota_check_bytes() limits, too. */
void quota_spend_trail(struct caller *caller, uint64_t now_ns, double bytes);

/* Counts the use of a run, or of a file on its way in or out. */
void quota_spend(struct caller *caller, uint64_t now_ns, double cpu_s, double bytes);
