/* Numbers and strings in and out of a message's bytes: little endian, strings with a length in
 * front.
 *
 * The reader never allocates and never reads past its end. Its first failure sticks: read
 * everything, then ask unpack_ok() once. Strings come back as pointers into the message.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pack {
    uint8_t *data; /* malloc'd */
    size_t len;
    size_t size;
    size_t limit;
    bool failed; /* out of memory, or past the limit */
};

struct unpack {
    const uint8_t *data;
    size_t len;
    size_t at;
    bool failed;
};

/* A piece of a message; not NUL-terminated. */
struct span {
    const char *data;
    size_t len;
};

void pack_init(struct pack *p, size_t limit);
void pack_done(struct pack *p);
void pack_u8(struct pack *p, uint8_t value);
void pack_u32(struct pack *p, uint32_t value);
void pack_u64(struct pack *p, uint64_t value);
void pack_bytes(struct pack *p, const void *data, size_t len);
void pack_str(struct pack *p, const char *text); /* NULL is packed as "" */

void unpack_init(struct unpack *u, const void *data, size_t len);
uint8_t unpack_u8(struct unpack *u);
uint32_t unpack_u32(struct unpack *u);
uint64_t unpack_u64(struct unpack *u);
struct span unpack_span(struct unpack *u);

/* A list's length. Each item takes at least `item_bytes`, so a count the message cannot hold is
 * refused here, before anybody allocates for it. */
uint32_t unpack_count(struct unpack *u, size_t item_bytes, uint32_t max);

/* True when every read succeeded and nothing is left over. */
bool unpack_ok(const struct unpack *u);

/* A NUL-terminated copy of the span, or NULL: out of memory, or a NUL inside. */
char *span_dup(struct span s);
