/* The way back: a result object, as a server gives it, into a run, for those who show it to a
 * person. A server is a stranger: what does not fit is left out. */
#pragma once

#include <jansson.h>

#include "base/run.h"

/* Status, exit code, exception, violations, value and usage; streams and displays are left alone.
 * E_PROTOCOL: it is no result, or the run has one. */
int result_read(const json_t *object, struct run *run, struct error *err);

/* Adds what was shown: [{"bundle","mime","data","encoding"}]. */
void result_read_displays(const json_t *forms, struct run *run);
