/* The key of a trail: Ed25519, made on first use, in a file that only its user can read.
 *
 * Signed are short texts whose first line says what they are ("belljar trail head v1"), so that one
 * signature can never pass for another kind of statement.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/sha256.h"

#define KEY_BYTES       32
#define KEY_SIGNATURE   64
#define KEY_BASE64_SIZE 89 /* of a signature, and the NUL */

struct key_pair;

/* A public key, by its bytes. Its name is the SHA-256 of these. */
struct key_public {
    uint8_t bytes[KEY_BYTES];
    char name[2 * SHA256_BYTES + 1];
};

/* Reads the private key. Where there is no file, *ret_is_new is true and the key a fresh one, which
 * is not on the disk before key_save(). */
int key_open(int dirfd, const char *name, struct key_pair **ret_key, bool *ret_is_new,
             struct error *err);
int key_save(const struct key_pair *key, int dirfd, const char *name, struct error *err);
void key_free(struct key_pair *key);

const struct key_public *key_public(const struct key_pair *key);

/* For codes that only the holder of the private key can make or check: a hash of it. */
const uint8_t *key_mac(const struct key_pair *key);

/* The signature as base64. */
int key_sign(const struct key_pair *key, const char *text, size_t len, char sign[KEY_BASE64_SIZE],
             struct error *err);

/* 0: it is the key's signature of the text. E_DENIED: it is not. */
int key_check(const struct key_public *key, const char *text, size_t len, const char *sign,
              struct error *err);

/* As PEM, which openssl(1) reads. */
int key_public_pem(const struct key_public *key, struct buf *out, struct error *err);
int key_public_read(const char *pem, size_t len, struct key_public *ret_key, struct error *err);
