/* The digests that git names its objects by: SHA-1, and SHA-256 in repositories that were made so.
 * The broker checks what it puts into a repository with them. It links no cryptographic library,
 * and this needs none: nothing here is secret.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define GIT_SHA1_BYTES   20u
#define GIT_SHA256_BYTES 32u
#define GIT_HASH_MAX     32u

struct git_hash {
    unsigned bytes; /* of the digest */
    uint32_t state[8];
    uint64_t len;
    uint8_t block[64];
};

/* `bytes`: GIT_SHA1_BYTES or GIT_SHA256_BYTES. */
void git_hash_begin(struct git_hash *h, unsigned bytes);
void git_hash_feed(struct git_hash *h, const void *data, size_t len);
void git_hash_end(struct git_hash *h, uint8_t digest[GIT_HASH_MAX]);

static inline uint32_t get_be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}
