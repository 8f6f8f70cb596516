/* Shared by the calls about stored data: states and skills. */
#pragma once

#include "calls/call.h"
#include "calls/stored.h"

#define CALL_DESCRIPTION_MAX 4096

/* The things of the run's owner. */
struct stored call_stored(const struct call *call);

/* Does it, and answers the call with what comes of it. */
void call_stored_answer(struct call *call, stored_fn fn);

/* Makes the work for a caller that sets a check and begins it. NULL: the call has been answered. */
struct stored_work *call_stored_work(struct call *call, stored_fn fn);
