/* The tokens of a cluster: one list for all machines, signed by an operator.
 *
 * The list is a text as in a file of tokens (admit/tokens.h), with hashes only, and a serial that
 * grows with each change. Whoever has the key of an operator can sign one; nodes only check, so the
 * keys of a node make no tokens. It lies in a bucket of JetStream, belljar_tokens, as one value:
 * a list that is whole cannot be shortened by who leaves a part of it out.
 *
 *   {"serial": 1, "tokens": "…", "certificate": "PEM", "signature": "hexadecimal digits"}
 *
 * What is signed is "belljar-cluster-tokens 1\n", the serial in digits, a newline and the tokens.
 */
#pragma once

#include <stdint.h>

#include "admit/tokens.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/limits.h"
#include "cluster/cluster.h"
#include "cluster/join_ca.h"

#define TOKEN_LIST_BUCKET  "belljar_tokens"
#define TOKEN_LIST_STREAM  "KV_" TOKEN_LIST_BUCKET
#define TOKEN_LIST_KEY     "all"
#define TOKEN_LIST_SUBJECT "$KV." TOKEN_LIST_BUCKET "." TOKEN_LIST_KEY
#define TOKEN_LIST_GET     "$JS.API.STREAM.MSG.GET." TOKEN_LIST_STREAM
#define TOKEN_LIST_CHANGED CLUSTER_SUBJECTS ".tokens.changed"

/* Of the value: a server takes no message above 1 MiB, and reading one makes it a third longer. */
#define TOKEN_LIST_BYTES (512 * KIB)

/* Beside the machine's file of tokens: the value that was used last. */
#define TOKEN_LIST_COPY ".cluster"

struct token_list {
    uint64_t serial;
    struct buf text; /* of the tokens */
};

/* For the line of its declaration. */
#define TOKEN_LIST                                                                                 \
    {                                                                                              \
        .text = BUF_OF(TOKEN_LIST_BYTES)                                                           \
    }

void token_list_done(struct token_list *list);

/* The value. */
int token_list_sign(const struct token_list *list, const struct join_pair *operator,
                    struct buf * ret_value, struct error *err);

/* Checks who has signed it. *ret_list is as TOKEN_LIST, and empty after a failure. */
int token_list_read(const char *value, size_t len, const char *ca_cert, struct token_list *ret_list,
                    struct error *err);

/* What JetStream answers a node that asks for the value: {"message": {"data": BASE64}} or {"error":
 * …}. Returns 1 with the value, 0 if there is no list. */
int token_list_read_answer(const char *text, size_t len, struct buf *ret_value, struct error *err);

/* The value in a file, if it is there and good. E_NOT_FOUND: there is none. */
int token_list_load(const char *path, const char *ca_cert, struct token_list *ret_list,
                    struct error *err);

/* Its tokens. `staged` is the path of a file that is written for it and goes again. */
int token_list_tokens(const struct token_list *list, const char *staged, struct tokens *ret_tokens,
                      struct error *err);

/* All of a file, as text. */
int token_list_read_file(const char *path, struct buf *ret_text, struct error *err);

/* Removes what was staged there. */
void token_list_unstage(const char *staged);
