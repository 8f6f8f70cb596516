/* A hash of a request: its path, the values of its body, and its files. The spelling of the body
 * does not count: the order of keys, blanks and escapes make no difference.
 *
 * The hash is fed from the values themselves and pauses in a fiber (base/fiber.h): a body may have
 * tens of megabytes.
 */
#pragma once

#include "http/request.h"

/* Sets request->idempotency.body. In a fiber that was cancelled the value is of no use. */
int fingerprint_read(struct request *request, struct error *err);
