/* The envelopes of the Connect protocol: one byte of flags, four of length (big endian), a message.
 * A pure look at bytes that copies nothing. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "wire/pack.h"

#define E2B_ENVELOPE_HEAD 5

enum e2b_envelope_flags {
    E2B_ENVELOPE_COMPRESSED = 1,
    E2B_ENVELOPE_LAST = 2, /* its message says how the stream ended */
};

/* The message of a body that is one envelope, as the request of a stream is. */
int e2b_envelope_read(struct span body, struct span *ret_message, struct error *err);

/* Adds an envelope around the message. */
int e2b_envelope_add(struct buf *out, uint8_t flags, const char *message, size_t len,
                     struct error *err);
