#include "cluster/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "base/sha256.h"
#include "base/span.h"

/* One entry for each place; another name of the same place takes it. */
#define PLACES 8192

struct entry {
    char key[KEEP_KEY_SIZE];
    char node[13];
};

struct names {
    uint64_t epoch;
    struct entry entries[PLACES];
};

struct names *names_new(void)
{
    return calloc(1, sizeof(struct names));
}

void names_free(struct names *names)
{
    free(names);
}

/* The token, wherever clients put it. */
static struct span credentials(const struct http_head *head)
{
    struct span header = http_head_get(head, "authorization");
    size_t n = header.data ? span_until(header, " ") : 0;

    if (header.data && n < header.len)
        return (struct span){header.data + n + 1, header.len - n - 1};
    header = http_head_get(head, "x-api-key");
    return header.data ? header : (struct span){"", 0};
}

void names_key(const struct http_head *head, const char *name, char ret_key[KEEP_KEY_SIZE])
{
    struct span who = credentials(head);
    uint8_t first[SHA256_BYTES], second[SHA256_BYTES];

    sha256(who.data, who.len, first);
    sha256(name, strlen(name), second);
    hex_write(first, 12, ret_key);
    ret_key[24] = '.';
    hex_write(second, 12, ret_key + 25);
}

static struct entry *place_of(const struct names *names, const char *key)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (const char *at = key; *at; at++)
        hash = (hash ^ (unsigned char)*at) * UINT64_C(1099511628211);
    return (struct entry *)(uintptr_t)&names->entries[hash % PLACES];
}

const char *names_find(const struct names *names, const char *key)
{
    const struct entry *e = place_of(names, key);

    return strcmp(e->key, key) == 0 && *e->node ? e->node : NULL;
}

uint64_t names_epoch(const struct names *names)
{
    return names->epoch;
}

void names_learn(struct names *names, uint64_t epoch, const char *key, const char *node)
{
    struct entry *e = place_of(names, key);

    if (epoch != names->epoch)
        return;
    (void)snprintf(e->key, sizeof(e->key), "%s", key);
    (void)snprintf(e->node, sizeof(e->node), "%s", node);
}

void names_forget(struct names *names, const char *key)
{
    struct entry *e = place_of(names, key);

    names->epoch++;
    if (strcmp(e->key, key) == 0)
        *e->node = '\0';
}

void names_forget_all(struct names *names)
{
    names->epoch++;
    memset(names->entries, 0, sizeof(names->entries));
}
