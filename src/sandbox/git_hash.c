#include "sandbox/git_hash.h"

#include <string.h>

static uint32_t rotate_left(uint32_t x, unsigned n)
{
    return x << n | x >> (32 - n);
}

static uint32_t rotate_right(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static void put_be32(uint8_t *p, uint32_t x)
{
    p[0] = (uint8_t)(x >> 24);
    p[1] = (uint8_t)(x >> 16);
    p[2] = (uint8_t)(x >> 8);
    p[3] = (uint8_t)x;
}

/* FIPS 180-4, 6.1.2 */
static void add_sha1(uint32_t state[8], const uint8_t *block)
{
    uint32_t w[80], a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];

    for (unsigned i = 0; i < 16; i++)
        w[i] = get_be32(block + (size_t)4 * i);
    for (unsigned i = 16; i < 80; i++)
        w[i] = rotate_left(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    for (unsigned i = 0; i < 80; i++) {
        uint32_t f, k, next;

        if (i < 20) {
            f = (b & c) | (~b & d);
            k = 0x5a827999;
        } else if (i < 40) {
            f = b ^ c ^ d;
            k = 0x6ed9eba1;
        } else if (i < 60) {
            f = (b & c) | (b & d) | (c & d);
            k = 0x8f1bbcdc;
        } else {
            f = b ^ c ^ d;
            k = 0xca62c1d6;
        }
        next = rotate_left(a, 5) + f + e + k + w[i];
        e = d;
        d = c;
        c = rotate_left(b, 30);
        b = a;
        a = next;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
}

/* FIPS 180-4, 4.2.2 */
static const uint32_t sha256_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

/* FIPS 180-4, 6.2.2 */
static void add_sha256(uint32_t state[8], const uint8_t *block)
{
    uint32_t w[64], s[8];

    memcpy(s, state, sizeof(s));
    for (unsigned i = 0; i < 16; i++)
        w[i] = get_be32(block + (size_t)4 * i);
    for (unsigned i = 16; i < 64; i++) {
        uint32_t x = w[i - 15], y = w[i - 2];

        w[i] = w[i - 16] + (rotate_right(x, 7) ^ rotate_right(x, 18) ^ x >> 3) + w[i - 7] +
               (rotate_right(y, 17) ^ rotate_right(y, 19) ^ y >> 10);
    }
    for (unsigned i = 0; i < 64; i++) {
        uint32_t one = s[7] +
                       (rotate_right(s[4], 6) ^ rotate_right(s[4], 11) ^ rotate_right(s[4], 25)) +
                       ((s[4] & s[5]) ^ (~s[4] & s[6])) + sha256_constants[i] + w[i];
        uint32_t two = (rotate_right(s[0], 2) ^ rotate_right(s[0], 13) ^ rotate_right(s[0], 22)) +
                       ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));

        memmove(s + 1, s, 7 * sizeof(*s));
        s[4] += one;
        s[0] = one + two;
    }
    for (unsigned i = 0; i < 8; i++)
        state[i] += s[i];
}

static void add_block(struct git_hash *h, const uint8_t *block)
{
    if (h->bytes == GIT_SHA1_BYTES)
        add_sha1(h->state, block);
    else
        add_sha256(h->state, block);
}

void git_hash_begin(struct git_hash *h, unsigned bytes)
{
    static const uint32_t sha1[8] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    static const uint32_t sha256[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

    h->bytes = bytes;
    h->len = 0;
    memcpy(h->state, bytes == GIT_SHA1_BYTES ? sha1 : sha256, sizeof(h->state));
}

void git_hash_feed(struct git_hash *h, const void *data, size_t len)
{
    const uint8_t *p = data;
    size_t used = h->len % sizeof(h->block);

    h->len += len;
    if (used + len < sizeof(h->block)) {
        if (len)
            memcpy(h->block + used, p, len);
        return;
    }
    if (used) {
        size_t n = sizeof(h->block) - used;

        memcpy(h->block + used, p, n);
        add_block(h, h->block);
        p += n;
        len -= n;
    }
    for (; len >= sizeof(h->block); len -= sizeof(h->block), p += sizeof(h->block))
        add_block(h, p);
    if (len)
        memcpy(h->block, p, len);
}

void git_hash_end(struct git_hash *h, uint8_t digest[GIT_HASH_MAX])
{
    static const uint8_t padding[64] = {0x80};
    uint64_t bits = h->len * 8;
    size_t used = h->len % sizeof(h->block);
    uint8_t tail[8];

    put_be32(tail, (uint32_t)(bits >> 32));
    put_be32(tail + 4, (uint32_t)bits);
    git_hash_feed(h, padding, used < 56 ? 56 - used : 120 - used);
    git_hash_feed(h, tail, sizeof(tail));
    for (unsigned i = 0; i < h->bytes / 4; i++)
        put_be32(digest + (size_t)4 * i, h->state[i]);
}
