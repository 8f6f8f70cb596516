/* The rules of our server for requests beyond those of HTTP/1 (base/http1.h): the target is a path,
 * there is a Host header, and single-valued headers are not repeated.
 *
 * A pure function over bytes: nothing is read, written or allocated here.
 */
#pragma once

#include "base/http1.h"
#include "base/limits.h"

#define HTTP_HEAD_BYTES      (16 * KIB)
#define HTTP_REQUEST_HEADERS 64

/* As http_read_request(), with `path`, `query`, `keeps_alive` and `expects_continue` filled in. */
ssize_t http_request_check(const char *data, size_t len, size_t *scanned,
                           struct http_head *ret_head, struct http_refusal *ret_why);

/* Like http_request_check(), but for a head that came as fields from the listener
 * (http/listener_message.h). */
int http_request_check_again(struct http_head *head, struct http_refusal *ret_why);
