/* HTTP as the gate reads it: the head of a request that a program sends to its proxy, what of it
 * goes on, the chunks of a body, and the head of an answer. Stricter than servers are, since two
 * who read the same bytes differently are how requests are smuggled: what is doubtful is refused.
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
#include "wire/pack.h"

/* What servers take, too: 64 KiB, of which a hundred fields are plenty. */
#define PROXY_HEAD_BYTES 65536
#define PROXY_FIELDS     128

enum proxy_body { PROXY_EMPTY, PROXY_LENGTH, PROXY_CHUNKED };

struct proxy_head {
    struct span method;
    bool is_connect;
    bool is_tls; /* https:// */
    bool is_old; /* HTTP/1.0 */
    /* For proxy_head_write(): only this method or path is granted, so nothing in the head may name
     * another one. */
    bool is_part;
    struct host host;
    uint16_t port;
    struct span target; /* path and query; empty or beginning with `?`: a slash is missing */
    struct span path;   /* without the query; may be empty */
    enum proxy_body body;
    uint64_t length;
    size_t n_fields;
    struct {
        struct span name, value;
    } fields[PROXY_FIELDS];
};

/* How many bytes the head of a request to a proxy takes; 0: it is not all there yet; -1: *ret_why
 * says what is wrong. Spans point into `data`. */
long proxy_head_read(const char *data, size_t len, struct proxy_head *ret_head,
                     const char **ret_why);

/* The same request as it goes to the server: without what was for the proxy, for one answer only,
 * and with `header` ("Name: value", or NULL) in the place of any field of that name, hyphens and
 * underscores being one. */
int proxy_head_write(const struct proxy_head *head, const char *header, struct buf *out,
                     struct error *err);

/* A chunked body, looked at as it passes. Zeroed to begin with. */
struct proxy_chunks {
    int state;
    unsigned digits;
    uint64_t left;
};

/* How many of the bytes belong to it; *ret_is_over: they were its last. -1: they are no chunks. */
long proxy_chunks_feed(struct proxy_chunks *chunks, const char *data, size_t len,
                       bool *ret_is_over);

/* The head of a server's answer, for the program: how many bytes it takes, 0 or -1 as above, and
 * what to pass on. *ret_is_interim: another one follows (100 Continue). */
long proxy_answer_head(const char *data, size_t len, struct buf *out, bool *ret_is_interim,
                       struct error *err);
