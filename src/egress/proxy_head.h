/* HTTP as the gate passes it on: the head of a request that a program sends to its proxy, what of
 * it goes to the server, and the head of the answer. base/http1.h reads it; what is doubtful is
 * refused.
 *
 * No state is kept, and nothing is allocated while reading.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/address.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/http1.h"

/* The limits of servers. */
#define PROXY_HEAD_BYTES 65536

struct proxy_head {
    struct http_head http;
    bool is_connect;
    bool is_tls; /* https:// */
    /* For proxy_head_write(): only this method or path is granted, so nothing in the head may name
     * another one. */
    bool is_part;
    struct host host;
    uint16_t port;
    struct span target; /* path and query; empty or beginning with `?`: a slash is missing */
    struct span path;   /* without the query; may be empty */
};

/* Returns the length of the head of a request to a proxy; 0: it is not complete yet; -1: *ret_why
 * is the error. Spans point into `data`. *scanned is the position that an earlier call has
 * reached. */
long proxy_head_read(const char *data, size_t len, size_t *scanned, struct proxy_head *ret_head,
                     const char **ret_why);

/* Writes the request as it goes to the server: without the fields for the proxy, for one answer
 * only, and with `header` ("Name: value", or NULL) instead of any field of that name; hyphens and
 * underscores count as equal. */
int proxy_head_write(const struct proxy_head *head, const char *header, struct buf *out,
                     struct error *err);

/* The head of a server's answer, for the program: how many bytes it takes, 0 or -1 as above, and
 * what to pass on. *ret_is_interim: another one follows (100 Continue). */
long proxy_answer_head(const char *data, size_t len, size_t *scanned, struct buf *out,
                       bool *ret_is_interim, struct error *err);
