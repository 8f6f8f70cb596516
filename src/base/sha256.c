#include "base/sha256.h"

#include <stdio.h>
#include <string.h>

#define BLOCK_BYTES 64

/* Fractions of the cube roots of the first 64 primes. */
static const uint32_t k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static void spread(const uint8_t *block, uint32_t w[64])
{
    for (int i = 0; i < 16; i++, block += 4)
        w[i] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 | (uint32_t)block[2] << 8 |
               block[3];
    for (int i = 16; i < 64; i++)
        w[i] = w[i - 16] + w[i - 7] +
               (rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3) +
               (rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10);
}

static void compress(uint32_t state[8], const uint8_t *block)
{
    uint32_t w[64], s[8];

    spread(block, w);
    memcpy(s, state, sizeof(s));
    for (int i = 0; i < 64; i++) {
        uint32_t t1 = s[7] + (rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25)) +
                      ((s[4] & s[5]) ^ (~s[4] & s[6])) + k[i] + w[i];
        uint32_t t2 = (rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22)) +
                      ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));

        memmove(s + 1, s, 7 * sizeof(s[0]));
        s[4] += t1;
        s[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++)
        state[i] += s[i];
    explicit_bzero(w, sizeof(w)); /* what is hashed is a secret */
}

void sha256(const void *data, size_t len, uint8_t digest[SHA256_BYTES])
{
    uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    uint8_t end[2 * BLOCK_BYTES] = {0};
    size_t whole = len / BLOCK_BYTES * BLOCK_BYTES, rest = len - whole;
    size_t padded = rest < BLOCK_BYTES - 8 ? BLOCK_BYTES : 2 * BLOCK_BYTES;

    for (size_t i = 0; i < whole; i += BLOCK_BYTES)
        compress(state, (const uint8_t *)data + i);
    if (rest)
        memcpy(end, (const uint8_t *)data + whole, rest);
    end[rest] = 0x80;
    for (int i = 0; i < 8; i++)
        end[padded - 1 - (size_t)i] = (uint8_t)((uint64_t)len * 8 >> (8 * i));
    for (size_t i = 0; i < padded; i += BLOCK_BYTES)
        compress(state, end + i);
    for (size_t i = 0; i < SHA256_BYTES; i++)
        digest[i] = (uint8_t)(state[i / 4] >> (24 - 8 * (i % 4)));
    explicit_bzero(end, sizeof(end));
}

int sha256_differs(const uint8_t a[SHA256_BYTES], const uint8_t b[SHA256_BYTES])
{
    volatile uint8_t difference = 0;

    for (size_t i = 0; i < SHA256_BYTES; i++)
        difference |= (uint8_t)(a[i] ^ b[i]);
    return difference != 0;
}

void sha256_to_hex(const uint8_t digest[SHA256_BYTES], char text[2 * SHA256_BYTES + 1])
{
    for (size_t i = 0; i < SHA256_BYTES; i++)
        (void)snprintf(text + 2 * i, 3, "%02x", digest[i]);
}

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int sha256_from_hex(const char *text, uint8_t digest[SHA256_BYTES])
{
    if (strlen(text) != (size_t)2 * SHA256_BYTES)
        return -1;
    for (size_t i = 0; i < SHA256_BYTES; i++) {
        int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);

        if (high < 0 || low < 0)
            return -1;
        digest[i] = (uint8_t)(high << 4 | low);
    }
    return 0;
}
