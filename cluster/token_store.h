/* The operator's side of the bucket with the cluster's tokens (cluster/token_list.h): it waits. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/sha256.h"
#include "cluster/operator.h"

/* The value and its revision. E_NOT_FOUND: there is none yet; *ret_revision is 0 then. */
int token_store_get(struct operator_bus *bus, struct buf *ret_value, uint64_t *ret_revision,
                    struct error *err);

/* Writes it where the revision is still that one, and tells all nodes. E_BUSY: another operator
 * was faster. The bucket is made where there is none. */
int token_store_put(struct operator_bus *bus, const struct buf *value, uint64_t revision,
                    int replicas, struct error *err);

/* Removes the skills and states that all machines had of that token. */
int token_store_purge(struct operator_bus *bus, const uint8_t hash[SHA256_BYTES],
                      struct error *err);
