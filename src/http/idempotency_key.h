/* The `Idempotency-Key` of a request, as two hashes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sha256.h"

struct idempotency_key {
    bool is_set;
    uint8_t name[SHA256_BYTES]; /* of the owner and the key */
    uint8_t body[SHA256_BYTES]; /* of what is asked, */
    bool has_body;              /* where it is known yet */
};
