/* Lists of runs: from memory, what waits, runs or is kept; and with `history`, what the audit trail
 * has of those that ended. And what the trail has of one run.
 */
#pragma once

#include "api/schema.h"
#include "http/request.h"

extern const struct schema_field run_history_list_fields[];
void run_history_list(struct request *request);

extern const struct schema_field run_history_record_fields[];
void run_history_record(struct request *request);
