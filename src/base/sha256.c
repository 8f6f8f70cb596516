#include "base/sha256.h"

#include <stdio.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/sha.h>

void sha256(const void *data, size_t len, uint8_t digest[SHA256_BYTES])
{
    (void)SHA256(data, len, digest);
}

int sha256_differs(const uint8_t a[SHA256_BYTES], const uint8_t b[SHA256_BYTES])
{
    return CRYPTO_memcmp(a, b, SHA256_BYTES);
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
