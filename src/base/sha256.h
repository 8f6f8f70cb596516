/* SHA-256, by OpenSSL, and its form as text. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES 32

void sha256(const void *data, size_t len, uint8_t digest[SHA256_BYTES]);

/* Hashes bytes that come in pieces. NULL: out of memory; the others accept that. The end frees
 * it. */
struct sha256_stream;
struct sha256_stream *sha256_begin(void);
void sha256_feed(struct sha256_stream *stream, const void *data, size_t len);

/* Like sha256_feed(), for many bytes: it pauses in a fiber (base/fiber.h), and stops in one that
 * was cancelled. */
void sha256_feed_slowly(struct sha256_stream *stream, const void *data, size_t len);
void sha256_end(struct sha256_stream *stream, uint8_t digest[SHA256_BYTES]);

/* Takes as long for the first byte that differs as for the last. */
int sha256_differs(const uint8_t a[SHA256_BYTES], const uint8_t b[SHA256_BYTES]);

/* As text of 64 digits, and back; -1: it is no such text. */
void sha256_to_hex(const uint8_t digest[SHA256_BYTES], char text[2 * SHA256_BYTES + 1]);
int sha256_from_hex(const char *text, uint8_t digest[SHA256_BYTES]);
