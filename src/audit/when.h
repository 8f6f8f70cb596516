/* Times as people write them, for filters of the trail. */
#pragma once

#include "base/error.h"

#define WHEN_SIZE 40

/* "2h", "7d", "2026-01-31", "2026-01-31T12:00" as a time of a record, to be compared as text. */
int audit_time(const char *text, char ret_time[WHEN_SIZE], struct error *err);
