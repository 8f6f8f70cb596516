/* /openapi.json: the route table, written down for people and generators (OpenAPI 3.1). */
#pragma once

#include <jansson.h>

#include "api/router.h"

/* NULL: out of memory. */
json_t *openapi_json(const struct route *const *tables);

/* Shapes of answers, as JSON text. Requests are described by the tables that check them; answers
 * are written by api/result.c and its like, and described there. */
extern const char openapi_components[];
