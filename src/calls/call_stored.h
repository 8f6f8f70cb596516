/* Shared by the calls about stored data: states and skills. */
#pragma once

#include "calls/call.h"
#include "calls/stored.h"

#define CALL_DESCRIPTION_MAX 4096

/* The things of the run's owner. */
struct stored call_stored(const struct call *call);

/* Does it, and answers the call with what comes of it. */
void call_stored_answer(struct call *call, stored_fn fn);
