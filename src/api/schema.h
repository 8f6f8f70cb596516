/* The fields of a request's body or query: one table per shape, which checks the input and
 * describes itself for /openapi.json.
 *
 * A mistake names the field, what was read and what was expected. Unknown fields are refused by
 * name: an option that is silently ignored is worse than an error.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/error.h"
#include "wire/pack.h"

enum schema_type {
    SCHEMA_STRING,
    SCHEMA_INTEGER,
    SCHEMA_NUMBER,
    SCHEMA_BOOLEAN,
    SCHEMA_STRINGS, /* an array of strings */
    SCHEMA_MAP,     /* an object whose values are strings */
    SCHEMA_OBJECTS, /* an array of objects of the shape `items` */
    SCHEMA_OBJECT,  /* an object of the shape `items`, or of any */
};

struct schema_field {
    const char *name; /* NULL ends the table */
    enum schema_type type;
    bool is_required;
    double min, max;     /* of a number; both 0: any */
    size_t max_len;      /* bytes of a string, items of an array or object; 0: any */
    const char *choices; /* of a string: comma-separated, or NULL */
    bool (*has_alias)(const char *text); /* accepts other words for the choices; or NULL */
    const struct schema_field *items;
    const char *help;    /* one sentence, lower case, no period */
    const char *example; /* a good value as JSON, for whoever got it wrong; or NULL */
};

/* Whether a language has this name. */
bool schema_has_language(const char *text);

/* Removes members that are null and may be missing: both say the same. Also in objects of arrays
 * that the table describes. */
void schema_drop_null(const struct schema_field *fields, json_t *value);

/* `value` is a JSON object. */
int schema_check(const struct schema_field *fields, const json_t *value, struct error *err);

/* "a=1&b=x" as an object with the types of the table, checked. `fields` may be NULL: nothing is
 * taken. The caller owns *ret_value. */
int schema_read_query(const struct schema_field *fields, struct span query, json_t **ret_value,
                      struct error *err);

/* Adds one field that is written as text, with the type of the table; of an array of strings, one
 * more. `text` has a NUL behind. The whole object is checked afterwards. */
int schema_add_text(const struct schema_field *fields, const char *name, const char *text,
                    size_t len, json_t *object, struct error *err);

/* Percent-decoded, with a NUL behind. Returns its length, which is never more than text.len. `+` is
 * a space in queries only. */
size_t schema_decode(struct span text, bool is_query, char *ret_text);

/* The JSON Schema (2020-12) of the table. NULL: out of memory. */
json_t *schema_json(const struct schema_field *fields);
