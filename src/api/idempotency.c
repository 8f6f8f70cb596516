#include "api/idempotency.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/cleanup.h"

#define BUCKETS 4096
#define KEY_MAX 255

struct owner;

struct item {
    struct idempotency_entry entry; /* first: it is what is given out */
    uint8_t name[SHA256_BYTES];
    uint64_t at_ns;
    struct owner *owner;
    LIST_ENTRY(item) in_bucket;
    TAILQ_ENTRY(item) in_owner; /* by age */
};

struct owner {
    LIST_ENTRY(owner) link;
    char *name;
    TAILQ_HEAD(, item) items;
    size_t count;
    size_t bytes; /* of answers */
};

struct idempotency {
    LIST_HEAD(bucket, item) buckets[BUCKETS];
    LIST_HEAD(, owner) owners; /* as many as there are tokens */
    size_t count;
};

/* --- keys --- */

int idempotency_key_read(struct idempotency_key *key, const char *owner, struct span text,
                         struct error *err)
{
    char joined[KEY_MAX + 128];
    size_t n = strlen(owner) + 1;

    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] <= ' ' || text.data[i] > '~')
            text.len = 0;
    if (text.len == 0 || text.len > KEY_MAX || n + text.len > sizeof(joined)) {
        error_set(err, E_INVALID, "Idempotency-Key is not a key");
        return error_hint(err, "a key has 1 to %d visible characters, a UUID for example", KEY_MAX);
    }
    memcpy(joined, owner, n); /* with its NUL: no name and key are another name and key */
    memcpy(joined + n, text.data, text.len);
    sha256(joined, n + text.len, key->name);
    key->is_set = true;
    return 0;
}

void idempotency_key_of(const struct idempotency_key *all, uint32_t index,
                        struct idempotency_key *ret_key)
{
    uint8_t joined[SHA256_BYTES + sizeof(index)];

    *ret_key = *all;
    memcpy(joined, all->name, SHA256_BYTES);
    memcpy(joined + SHA256_BYTES, &index, sizeof(index));
    sha256(joined, sizeof(joined), ret_key->name);
}

/* --- the table --- */

static struct bucket *bucket_of(const struct idempotency *keys, const uint8_t *name)
{
    return (struct bucket *)&keys->buckets[((size_t)name[0] << 8 | name[1]) % BUCKETS];
}

static struct item *find(const struct idempotency *keys, const struct idempotency_key *key)
{
    struct item *item;

    LIST_FOREACH(item, bucket_of(keys, key->name), in_bucket)
        if (memcmp(item->name, key->name, SHA256_BYTES) == 0)
            break;
    return item;
}

static void forget(struct idempotency *keys, struct item *item)
{
    struct owner *owner = item->owner;

    LIST_REMOVE(item, in_bucket);
    TAILQ_REMOVE(&owner->items, item, in_owner);
    owner->count--;
    owner->bytes -= item->entry.len;
    keys->count--;
    free(item->entry.answer);
    free(item);
}

static bool is_old(const struct item *item, uint64_t now_ns)
{
    return (now_ns - item->at_ns) / 1000000 >= IDEMPOTENCY_MS;
}

static struct owner *find_owner(const struct idempotency *keys, const char *name)
{
    struct owner *owner;

    LIST_FOREACH(owner, &keys->owners, link)
        if (strcmp(owner->name, name) == 0)
            break;
    return owner;
}

static struct owner *owner_of(struct idempotency *keys, const char *name)
{
    struct owner *owner = find_owner(keys, name);

    if (owner)
        return owner;
    owner = calloc(1, sizeof(*owner));
    if (owner)
        owner->name = strdup(name);
    if (!owner || !owner->name) {
        free(owner);
        return NULL;
    }
    TAILQ_INIT(&owner->items);
    LIST_INSERT_HEAD(&keys->owners, owner, link);
    return owner;
}

const struct idempotency_entry *idempotency_find(const struct idempotency *keys,
                                                 const struct idempotency_key *key, uint64_t now_ns)
{
    const struct item *item = find(keys, key);

    return item && !is_old(item, now_ns) ? &item->entry : NULL;
}

int idempotency_add(struct idempotency *keys, const char *owner, const struct idempotency_key *key,
                    const char *run, uint64_t now_ns, struct error *err)
{
    struct owner *line = owner_of(keys, owner);
    struct item *item = calloc(1, sizeof(*item)), *oldest;

    if (!line || !item) {
        free(item);
        return error_memory(err);
    }
    while ((oldest = TAILQ_FIRST(&line->items)) &&
           (line->count >= IDEMPOTENCY_KEPT || is_old(oldest, now_ns)))
        forget(keys, oldest);
    memcpy(item->name, key->name, SHA256_BYTES);
    memcpy(item->entry.body, key->body, SHA256_BYTES);
    if (run)
        memcpy(item->entry.run, run, strnlen(run, sizeof(item->entry.run) - 1));
    item->at_ns = now_ns;
    item->owner = line;
    LIST_INSERT_HEAD(bucket_of(keys, item->name), item, in_bucket);
    TAILQ_INSERT_TAIL(&line->items, item, in_owner);
    line->count++;
    keys->count++;
    return 0;
}

void idempotency_keep(struct idempotency *keys, const struct idempotency_key *key, const char *text,
                      size_t len)
{
    struct item *item = find(keys, key);
    struct owner *owner = item ? item->owner : NULL;
    char *copy = item && len <= IDEMPOTENCY_BYTES ? malloc(len + 1) : NULL;

    if (!copy)
        return;
    owner->bytes += len - item->entry.len;
    while (owner->bytes > IDEMPOTENCY_BYTES && TAILQ_FIRST(&owner->items) != item)
        forget(keys, TAILQ_FIRST(&owner->items));
    memcpy(copy, text, len);
    copy[len] = '\0';
    free(item->entry.answer);
    item->entry.answer = copy;
    item->entry.len = len;
}

void idempotency_drop(struct idempotency *keys, const struct idempotency_key *key)
{
    struct item *item = find(keys, key);

    if (item)
        forget(keys, item);
}

void idempotency_forget(struct idempotency *keys, const char *owner)
{
    struct owner *line = find_owner(keys, owner);

    if (!line)
        return;
    while (!TAILQ_EMPTY(&line->items))
        forget(keys, TAILQ_FIRST(&line->items));
    LIST_REMOVE(line, link);
    free(line->name);
    free(line);
}

size_t idempotency_count(const struct idempotency *keys)
{
    return keys->count;
}

int idempotency_new(struct idempotency **ret_once, struct error *err)
{
    *ret_once = calloc(1, sizeof(**ret_once));
    return *ret_once ? 0 : error_memory(err);
}

void idempotency_free(struct idempotency *keys)
{
    while (keys && !LIST_EMPTY(&keys->owners))
        idempotency_forget(keys, LIST_FIRST(&keys->owners)->name);
    free(keys);
}
