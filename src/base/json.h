/* JSON text: the one place where it is read and written, with the limits and flags of ours.
 *
 * Reading refuses repeated keys, too deep nesting, too many bytes, too many values and, unless
 * asked otherwise, NUL inside strings. Writing leaves no control character unescaped, not even
 * those above ASCII.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"

static inline void json_decref_p(json_t **value)
{
    json_decref(*value);
}

#define cleanup_json cleanup(json_decref_p)

struct json_text_limits {
    size_t bytes;
    unsigned depth; /* arrays and objects inside one another */
    bool allows_nul;
    bool allows_scalar; /* false: an array or object is expected */
    bool allows_many; /* any number of values: a text of Belljar's own, or read for one user only */
    size_t memory;    /* that the values may take; 0: LIMIT_JSON_MEMORY */
};

/* A mistake is E_INVALID with line and column, an excess E_TOO_LARGE. The caller owns *ret_value.
 */
int json_text_load(const char *text, size_t len, const struct json_text_limits *limits,
                   json_t **ret_value, struct error *err);

/* A text that Belljar wrote, or that its user has it read for himself: any number of values, and
 * NUL in strings. NULL: it is not JSON, is longer than JSON_TEXT_OWN_BYTES, or memory is short. */
#define JSON_TEXT_OWN_BYTES ((size_t)256 << 20)
json_t *json_text_own(const char *text, size_t len);
json_t *json_text_own_file(const char *path); /* NULL also where it cannot be read */

/* Whether the bytes are UTF-8. As the functions below it pauses in a fiber (base/fiber.h) while it
 * is at a long text. */
bool json_text_is_utf8(const char *bytes, size_t len);

/* Whether it is an array of strings. */
bool json_are_strings(const json_t *list);

/* Any bytes as a JSON string; what is not UTF-8 becomes U+FFFD. NULL: out of memory. */
json_t *json_text_string(const char *bytes, size_t len);

enum json_text_style { JSON_TEXT_COMPACT, JSON_TEXT_PRETTY };

/* Adds the text and, when pretty, a newline. In a fiber that was cancelled it fails. */
int json_text_dump(const json_t *value, enum json_text_style style, struct buf *out,
                   struct error *err);

/* For objects whose members are strings; NULL becomes null. */
static inline json_t *json_string_or_null(const char *text)
{
    return text ? json_text_string(text, strlen(text)) : json_null();
}

/* The string under that key, or "". */
static inline const char *json_get_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

/* Out of memory leaves the key out. */
static inline void json_set(json_t *object, const char *key, json_t *value)
{
    (void)json_object_set_new(object, key, value);
}
