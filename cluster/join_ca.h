/* The certificates of a cluster: an authority of its own, and a certificate for each role of each
 * machine. All are P-256 keys in PEM. The authority is needed only to add machines.
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

#define JOIN_PEM_BYTES ((size_t)64 * 1024)

#define JOIN_CA_DAYS   3650
#define JOIN_CERT_DAYS 1095

struct join_pair {
    struct buf cert;
    struct buf key; /* wiped by join_pair_done() */
};

/* For the line of its declaration. */
#define JOIN_PAIR                                                                                  \
    {                                                                                              \
        BUF_OF(JOIN_PEM_BYTES), BUF_OF(JOIN_PEM_BYTES)                                             \
    }

void join_pair_done(struct join_pair *pair);

/* A new authority. */
int join_ca_make(struct join_pair *ret_ca, struct error *err);

/* Whether an authority that somebody else made can be used: it may sign, its key belongs to it, and
 * it is valid now. */
int join_ca_check(const struct join_pair *ca, struct error *err);

/* A certificate with the subject "CN=NAME". `host`, an address or a name, is for servers: they are
 * reached by it, and as localhost. NULL: a client, which the server knows by its subject. */
int join_ca_sign(const struct join_pair *ca, const char *name, const char *host,
                 struct join_pair *ret_pair, struct error *err);

/* Whether the certificate was signed by that authority and belongs to the key; *ret_days is for how
 * long it is valid still. */
int join_ca_verify(const char *ca_cert, const struct join_pair *pair, int *ret_days,
                   struct error *err);

/* A text that the owner of that pair vouches for: hexadecimal digits. */
#define JOIN_SIGNATURE_SIZE 161
int join_ca_sign_text(const struct join_pair *pair, const char *text, size_t len,
                      char ret_signature[static JOIN_SIGNATURE_SIZE], struct error *err);

/* Whether that certificate, of a client named `name`, was signed by the authority, is valid now,
 * and its owner has signed the text. */
int join_ca_verify_text(const char *ca_cert, const char *cert, const char *name, const char *text,
                        size_t len, const char *signature, struct error *err);
