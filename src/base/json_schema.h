/* The part of JSON Schema that arguments of functions need: types, bounds, choices, properties and
 * items. */
#pragma once

#include <jansson.h>

#include "base/error.h"

/* Whether it is a schema of that part: what is not known would be a promise that nobody keeps. */
int json_schema_check(const json_t *schema, const char *where, struct error *err);

/* Whether the value is as such a schema says. `where` names it in the error. */
int json_schema_validate(const json_t *schema, const json_t *value, const char *where,
                         struct error *err);
