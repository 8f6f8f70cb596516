/* Reads untrusted messages of other MCP servers: pure functions over bytes and JSON.
 *
 * Only the shape of a message is trusted, after a check; other parts are left out or refused.
 * Invisible characters are removed from texts: control characters, text direction marks, zero-width
 * letters.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/error.h"

enum upstream_kind {
    UPSTREAM_JUNK,    /* no message */
    UPSTREAM_RESULT,  /* to our request `id` */
    UPSTREAM_ERROR,   /* the same, and `err` of upstream_message_read() says what */
    UPSTREAM_REQUEST, /* of the server's; only in the legacy era */
    UPSTREAM_NOTICE,
};

struct upstream_message {
    enum upstream_kind kind;
    uint64_t id;          /* of an answer */
    const json_t *result; /* of UPSTREAM_RESULT: an object */
    const char *method;   /* of a request or notice */
    const json_t *asked;  /* the id of a request */
    int code;             /* of UPSTREAM_ERROR */
};

/* One message. NULL: it is none, too long or too deep. The caller's. */
json_t *upstream_message_load(const char *text, size_t len, struct error *err);

/* Classifies a message. The result lives as long as `message`. `err`: filled for UPSTREAM_ERROR. */
struct upstream_message upstream_message_read(const json_t *message, struct error *err);

/* The number behind `"id":` in bytes that are no message, because they are cut off or broken: which
 * request they were to answer, probably. 0: none is to be seen. */
uint64_t upstream_message_guess(const char *text, size_t len);

/* A string as a text for people or models, cut at `max` bytes. NULL: out of memory. */
json_t *upstream_text(const json_t *string, size_t max);

/* Adds the good ones of a page of tools/list to `tools`, an array, as {"name", "title",
 * "description", "input", "output", "read_only", "destructive"}; without what they do not have. A
 * name that is there already counts once. Returns how many were left out, -1: the page is no such
 * thing, or there is no memory. */
int upstream_tools_add(json_t *tools, const json_t *result, struct error *err);

/* The cursor of the next page, or NULL. */
const char *upstream_tools_next(const json_t *result);

/* The tool of that name in such an array, or NULL. */
const json_t *upstream_tools_find(const json_t *tools, const char *name);

/* The result of tools/call as programs get it: {"content": […], "structured": …, "is_error": true},
 * each part only if it is there. E_PROTOCOL: it is no such thing, or wants something of us. The
 * caller's. */
json_t *upstream_result(const json_t *result, struct error *err);
