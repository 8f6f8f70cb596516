/* The engine inside a virtual machine: its settings, and requests and results in its language,
 * which is that of `/v1/run`. Nothing here is sent or received.
 */
#pragma once

#include <jansson.h>

#include "base/config.h"
#include "base/run.h"

/* Of an answer: output, displays and collected files at their largest, as JSON. */
#define INSIDE_ANSWER_MAX ((size_t)128 << 20)

/* A file of settings. Limits are those of the host: who may ask for what has been decided there. */
int inside_settings(const struct config *config, struct buf *out, struct error *err);

/* The body of a request. E_UNSUPPORTED: it wants what a machine cannot give, and the message names
 * it. */
int inside_request(const struct run *run, struct buf *out, struct error *err);

/* An answer: status and body. The result is filled in, and masked; or result.error. The machine is
 * a stranger. May pause in a fiber. */
void inside_take_answer(struct run *run, int status, const char *body, size_t len);
