/* Heads of requests to servers in a session, and of their answers: what passes, and what does not.
 *
 * To the server goes what the client sent, without what is between the client and us: the token,
 * cookies, and headers of one connection. From it comes what a table permits. It decides nothing
 * about our own origin: it sets no cookie and no policy, and a page of it is one of nobody's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/http1.h"
#include "http/request.h"

struct port_head {
    uint16_t port;
    struct span path;   /* behind the port, as it came: empty, or with a slash */
    struct span prefix; /* what stands before it */
};

/* E_INVALID: the path names no port. */
int port_head_read(const struct request *request, struct port_head *ret_head, struct error *err);

/* Whether the client wants another protocol, which is then WebSocket. */
bool port_head_upgrades(const struct http_head *head);

/* The request as the server gets it. */
int port_head_write(const struct request *request, const struct port_head *head, struct buf *out,
                    struct error *err);

/* Headers of the answer: lines with their CR LF. `is_masked`: its body will be. */
int port_head_answer(const struct http_head *answer, const struct port_head *head, bool is_masked,
                     struct buf *out, struct error *err);

/* Whether the body is text, which is masked as all output of programs is. */
bool port_head_is_text(const struct http_head *answer);
