#include "wire/pack.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#define PACK_FIRST_SIZE ((size_t)256)

void pack_init(struct pack *p, size_t limit)
{
    *p = (struct pack){.limit = limit};
}

void pack_done(struct pack *p)
{
    free(p->data);
    *p = (struct pack){.limit = p->limit};
}

static void append(struct pack *p, const void *data, size_t len)
{
    if (p->failed || len > p->limit - p->len) {
        p->failed = true;
        return;
    }
    if (p->len + len > p->size) {
        size_t size = p->size ? p->size : PACK_FIRST_SIZE;
        uint8_t *grown;

        while (size < p->len + len)
            size *= 2;
        grown = realloc(p->data, size);
        if (!grown) {
            p->failed = true;
            return;
        }
        p->data = grown;
        p->size = size;
    }
    if (len)
        memcpy(p->data + p->len, data, len);
    p->len += len;
}

void pack_u8(struct pack *p, uint8_t value)
{
    append(p, &value, sizeof(value));
}

void pack_u32(struct pack *p, uint32_t value)
{
    value = htole32(value);
    append(p, &value, sizeof(value));
}

void pack_u64(struct pack *p, uint64_t value)
{
    value = htole64(value);
    append(p, &value, sizeof(value));
}

void pack_bytes(struct pack *p, const void *data, size_t len)
{
    if (len > UINT32_MAX) {
        p->failed = true;
        return;
    }
    pack_u32(p, (uint32_t)len);
    append(p, data, len);
}

void pack_str(struct pack *p, const char *text)
{
    pack_bytes(p, text, text ? strlen(text) : 0);
}

void unpack_init(struct unpack *u, const void *data, size_t len)
{
    *u = (struct unpack){.data = data, .len = len};
}

static const uint8_t *take(struct unpack *u, size_t len)
{
    const uint8_t *at;

    if (u->failed || len > u->len - u->at) {
        u->failed = true;
        return NULL;
    }
    at = u->data + u->at;
    u->at += len;
    return at;
}

uint8_t unpack_u8(struct unpack *u)
{
    const uint8_t *at = take(u, 1);

    return at ? *at : 0;
}

uint32_t unpack_u32(struct unpack *u)
{
    const uint8_t *at = take(u, sizeof(uint32_t));
    uint32_t value = 0;

    if (at)
        memcpy(&value, at, sizeof(value));
    return le32toh(value);
}

uint64_t unpack_u64(struct unpack *u)
{
    const uint8_t *at = take(u, sizeof(uint64_t));
    uint64_t value = 0;

    if (at)
        memcpy(&value, at, sizeof(value));
    return le64toh(value);
}

struct span unpack_span(struct unpack *u)
{
    uint32_t len = unpack_u32(u);
    const uint8_t *at = take(u, len);

    return at ? (struct span){(const char *)at, len} : (struct span){"", 0};
}

uint32_t unpack_count(struct unpack *u, size_t item_bytes, uint32_t max)
{
    uint32_t count = unpack_u32(u);

    if (u->failed || count > max || (item_bytes && count > (u->len - u->at) / item_bytes)) {
        u->failed = true;
        return 0;
    }
    return count;
}

bool unpack_ok(const struct unpack *u)
{
    return !u->failed && u->at == u->len;
}

char *span_dup(struct span s)
{
    char *copy;

    if (s.len && memchr(s.data, '\0', s.len))
        return NULL;
    copy = malloc(s.len + 1);
    if (copy) {
        if (s.len)
            memcpy(copy, s.data, s.len);
        copy[s.len] = '\0';
    }
    return copy;
}
