/* /openapi.json: the route table, written down for people and generators (OpenAPI 3.1). */
#pragma once

#include <jansson.h>

#include "api/router.h"
#include "base/buf.h"

/* NULL: out of memory. */
json_t *openapi_json(const struct route *const *tables);

/* Shapes of answers, as JSON text. Requests are described by the tables that check them; answers
 * are written by api/result.c and its like, and described there. */
extern const char openapi_components[];

/* The text of /openapi.json: made when it is first asked for, and kept. */
struct openapi {
    const struct route *const *tables;
    struct buf text;
};

/* Lent until openapi_done(); NULL: no memory. */
const struct buf *openapi_text(struct openapi *openapi, struct error *err);
void openapi_done(struct openapi *openapi);
