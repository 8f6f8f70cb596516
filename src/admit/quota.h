/* Allowances of a caller: runs per minute, CPU seconds and bytes per hour.
 *
 * Allowances refill evenly, so that not everybody starts again at the same moment. CPU time and
 * bytes are known afterwards: a caller over its allowance can start nothing new until enough has
 * been refilled.
 */
#pragma once

#include <stdint.h>

#include "admit/caller.h"
#include "base/error.h"

/* Takes one run. E_BUSY: not now; *ret_wait_s says in how many seconds, at least 1. */
int quota_take_run(struct caller *caller, uint64_t now_ns, unsigned *ret_wait_s, struct error *err);

/* Whether bytes may be moved. E_BUSY as above. */
int quota_check_bytes(struct caller *caller, uint64_t now_ns, unsigned *ret_wait_s,
                      struct error *err);

/* The trail took so many bytes on behalf of the caller, which quota_check_bytes() limits, too. */
void quota_spend_trail(struct caller *caller, uint64_t now_ns, double bytes);

/* Counts the use of a run, or of a file on its way in or out. */
void quota_spend(struct caller *caller, uint64_t now_ns, double cpu_s, double bytes);
