/* Keys under which clients ask (`Idempotency-Key`), so that a request that is sent twice has its
 * effect once.
 *
 * A key belongs to an owner and stands for one body. The table says what became of it: the run it
 * started, or the answer as it was given. An entry is as good as IDEMPOTENCY_MS, and of an owner
 * the last IDEMPOTENCY_KEPT stay, with IDEMPOTENCY_BYTES of answers; what is older may have its
 * effect again. Entries hold no text of clients but the answers that are put in.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/id.h"
#include "base/sha256.h"
#include "http/idempotency_key.h"
#include "wire/pack.h"

#define IDEMPOTENCY_MS   ((uint64_t)60 * 60 * 1000)
#define IDEMPOTENCY_KEPT 10000

/* Answers of one owner. */
#define IDEMPOTENCY_BYTES ((size_t)16 << 20)

struct idempotency;

/* The entry of a key; lent until the next call. */
struct idempotency_entry {
    uint8_t body[SHA256_BYTES];
    char run[ID_SIZE]; /* the id of the run it started; "": it started none */
    char *answer;      /* as it was given, or NULL */
    size_t len;
};

int idempotency_new(struct idempotency **ret_once, struct error *err);
void idempotency_free(struct idempotency *keys);

/* Sets key->name. `text`: 1 to 255 visible characters of ASCII, else E_INVALID. */
int idempotency_key_read(struct idempotency_key *key, const char *owner, struct span text,
                         struct error *err);

/* The key of one of several things that are asked for at once. */
void idempotency_key_of(const struct idempotency_key *all, uint32_t index,
                        struct idempotency_key *ret_key);

/* NULL: it is new, or forgotten. */
const struct idempotency_entry *idempotency_find(const struct idempotency *keys,
                                                 const struct idempotency_key *key,
                                                 uint64_t now_ns);

/* For a key that is not there. `run` may be NULL. */
int idempotency_add(struct idempotency *keys, const char *owner, const struct idempotency_key *key,
                    const char *run, uint64_t now_ns, struct error *err);

/* Keeps the answer; without memory, or without the key, nothing is kept. */
void idempotency_keep(struct idempotency *keys, const struct idempotency_key *key, const char *text,
                      size_t len);

/* It had no effect, and may be tried again. */
void idempotency_drop(struct idempotency *keys, const struct idempotency_key *key);

/* All of an owner's. */
void idempotency_forget(struct idempotency *keys, const char *owner);

size_t idempotency_count(const struct idempotency *keys);
