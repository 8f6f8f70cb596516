#include "base/sha256.h"

#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/sha.h>

#include "base/fiber.h"
#include "base/hex.h"

/* Hashed between two looks at the clock, in a fiber: a millisecond at most. */
#define PAUSE_BYTES ((size_t)128 << 10)

/* OpenSSL's memory is freed with the process: freeing it piece by piece only delays the end of
 * every run on the command line. The first user of OpenSSL has to set this. */
static void __attribute__((constructor)) keep_to_the_end(void)
{
    (void)OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
}

void sha256(const void *data, size_t len, uint8_t digest[SHA256_BYTES])
{
    (void)SHA256(data, len, digest);
}

/* OpenSSL's own type, under a name of ours. */
struct sha256_stream *sha256_begin(void)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();

    if (context && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1)
        return (struct sha256_stream *)context;
    EVP_MD_CTX_free(context);
    return NULL;
}

void sha256_feed(struct sha256_stream *stream, const void *data, size_t len)
{
    if (stream)
        (void)EVP_DigestUpdate((EVP_MD_CTX *)stream, data, len);
}

void sha256_feed_slowly(struct sha256_stream *stream, const void *data, size_t len)
{
    const char *at = data;

    while (len && !fiber_is_cancelled()) {
        size_t n = len < PAUSE_BYTES ? len : PAUSE_BYTES;

        sha256_feed(stream, at, n);
        at += n;
        len -= n;
        if (len)
            fiber_pause();
    }
}

void sha256_end(struct sha256_stream *stream, uint8_t digest[SHA256_BYTES])
{
    if (!stream)
        return;
    (void)EVP_DigestFinal_ex((EVP_MD_CTX *)stream, digest, NULL);
    EVP_MD_CTX_free((EVP_MD_CTX *)stream);
}

int sha256_differs(const uint8_t a[SHA256_BYTES], const uint8_t b[SHA256_BYTES])
{
    return CRYPTO_memcmp(a, b, SHA256_BYTES);
}

void sha256_to_hex(const uint8_t digest[SHA256_BYTES], char text[2 * SHA256_BYTES + 1])
{
    hex_write(digest, SHA256_BYTES, text);
}

int sha256_from_hex(const char *text, uint8_t digest[SHA256_BYTES])
{
    if (strlen(text) != (size_t)2 * SHA256_BYTES)
        return -1;
    for (size_t i = 0; i < SHA256_BYTES; i++) {
        int high = hex_lower_value(text[2 * i]), low = hex_lower_value(text[2 * i + 1]);

        if (high < 0 || low < 0)
            return -1;
        digest[i] = (uint8_t)(high << 4 | low);
    }
    return 0;
}
