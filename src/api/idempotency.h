/* Keys under which clients ask (`Idempotency-Key`), so that a request that is sent twice has its
 * effect once.
 *
 * A key belongs to an owner and stands for one body. The table says what became of it: the run it
 * started, or the answer as it was given. An entry is as good as ONCE_MS, and of an owner the last
 * ONCE_KEPT stay, with ONCE_BYTES of answers; what is older may have its effect again. Entries hold
 * no text of clients but the answers that are put in.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/sha256.h"
#include "http/idempotency_key.h"
#include "wire/pack.h"

#define ONCE_MS   ((uint64_t)60 * 60 * 1000)
#define ONCE_KEPT 10000

/* Answers of one owner. */
#define ONCE_BYTES ((size_t)16 << 20)

struct once;

/* What is known of a key; lent until the next call. */
struct once_entry {
    uint8_t body[SHA256_BYTES];
    char run[32]; /* the id of the run it started; "": it started none */
    char *answer; /* as it was given, or NULL */
    size_t len;
};

int once_new(struct once **ret_once, struct error *err);
void once_free(struct once *once);

/* Sets key->name. `text`: 1 to 255 visible characters of ASCII, else E_INVALID. */
int once_key_read(struct once_key *key, const char *owner, struct span text, struct error *err);

/* The key of one of several things that are asked for at once. */
void once_key_of(const struct once_key *all, uint32_t index, struct once_key *ret_key);

/* NULL: it is new, or forgotten. */
const struct once_entry *once_find(const struct once *once, const struct once_key *key,
                                   uint64_t now_ns);

/* For a key that is not there. `run` may be NULL. */
int once_add(struct once *once, const char *owner, const struct once_key *key, const char *run,
             uint64_t now_ns, struct error *err);

/* Keeps the answer; without memory, or without the key, nothing is kept. */
void once_keep(struct once *once, const struct once_key *key, const char *text, size_t len);

/* It had no effect, and may be tried again. */
void once_drop(struct once *once, const struct once_key *key);

/* All of an owner's. */
void once_forget(struct once *once, const char *owner);

size_t once_count(const struct once *once);
