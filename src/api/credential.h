/* The token of a request: where it may stand, and whose it is.
 *
 * Routes take it from `Authorization: Bearer` or `X-API-Key`. A route whose clients send it
 * elsewhere has an `identify` of its own (struct route), which calls these.
 */
#pragma once

#include "admit/auth.h"
#include "base/error.h"
#include "base/span.h"
#include "http/request.h"

/* Finds the token in the headers that every route reads; without data: there is none. */
struct span credential_of_headers(const struct request *request);

/* Finds the token in a WebSocket subprotocol that begins with `prefix`: browsers cannot set other
 * headers of a WebSocket. */
struct span credential_of_protocol(const struct request *request, const char *prefix);

/* Finds the caller whose token it is, and records a refusal. */
int credential_check(struct request *request, struct span token, struct caller **ret_caller,
                     struct error *err);

/* The two together, for routes without an `identify` of their own. */
int credential_identify(struct request *request, struct caller **ret_caller, struct error *err);
