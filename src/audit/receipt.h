/* A receipt: a signed statement that a run has been, what it was and how it ended, and where its
 * record stands in the trail. Whoever has the public key can check it, without the trail.
 *
 * What is signed is the text "belljar receipt v2\n" and one line `name=value` for each field but
 * the version and the signature, in the order of the table in receipt.c. The first version, which
 * is still read, had no digest of what was shown.
 */
#pragma once

#include "audit/key.h"
#include "audit/record.h"
#include "base/buf.h"
#include "base/error.h"

#define RECEIPT_FIELDS  11
#define RECEIPT_VERSION 2

struct receipt {
    unsigned version;
    char id[64];
    char status[32];
    char time[32];
    char code[2 * SHA256_BYTES + 1]; /* hashes, in hexadecimal */
    char out[2 * SHA256_BYTES + 1];
    char err[2 * SHA256_BYTES + 1];
    char result[2 * SHA256_BYTES + 1];
    char displays[2 * SHA256_BYTES + 1]; /* audit/display_hash.h; the second version has it */
    char seq[24];
    char hash[2 * SHA256_BYTES + 1]; /* of the record */
    char key[2 * SHA256_BYTES + 1];
    char signature[KEY_BASE64_SIZE];
};

/* Fills in time, place and key, and signs. */
int receipt_sign(struct receipt *receipt, const struct record_mark *mark,
                 const struct key_pair *key, struct error *err);

/* As a JSON object in one line. */
int receipt_text(const struct receipt *receipt, struct buf *out, struct error *err);

/* The object, or one that has it as `receipt`: a result. */
int receipt_parse(const char *text, size_t len, struct receipt *ret_receipt, struct error *err);

/* If the text is a result with its receipt, checks that the result matches the signature. E_DENIED:
 * names the difference. Any other text is not checked. */
int receipt_check_result(const struct receipt *receipt, const char *text, size_t len,
                         struct error *err);

/* 0: the key signed it. E_DENIED: it did not. */
int receipt_check(const struct receipt *receipt, const struct key_public *key, struct error *err);

/* The place of the record, according to the receipt. */
int receipt_mark(const struct receipt *receipt, struct record_mark *ret_mark, struct error *err);
