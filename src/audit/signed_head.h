/* The signed head of a trail: how many records there are and the hash of the last one, so that
 * cutting off the end shows. It is one small file beside the records, replaced as a whole.
 */
#pragma once

#include <stdbool.h>

#include "audit/key.h"
#include "audit/record.h"
#include "base/error.h"

#define SIGNED_HEAD_NAME      "head.json"
#define SIGNED_HEAD_TEXT_SIZE 640

struct signed_head {
    struct record_mark mark; /* its `time` is when it was signed */
    char key[2 * SHA256_BYTES + 1];
    char signature[KEY_BASE64_SIZE];
};

/* The head that says so, signed now. */
int signed_head_make(const struct record_mark *mark, const struct key_pair *key,
                     struct signed_head *ret_head, struct error *err);
void signed_head_text(const struct signed_head *head, char text[SIGNED_HEAD_TEXT_SIZE]);
int signed_head_parse(const char *text, size_t len, struct signed_head *ret_head,
                      struct error *err);

/* E_NOT_FOUND: there is none. E_INVALID: it is damaged. */
int signed_head_read(int dirfd, struct signed_head *ret_head, struct error *err);

/* 0: the key signed it. E_DENIED: it did not. */
int signed_head_check(const struct signed_head *head, const struct key_public *key,
                      struct error *err);

/* A seal is the same statement within the chain, at the end of a file, about the record before it.
 */
int seal_sign(const struct record_mark *mark, const struct key_pair *key,
              char sign[KEY_BASE64_SIZE], struct error *err);
int seal_check(const struct record_mark *mark, const struct key_public *key, const char *sign,
               struct error *err);
