/* Any bytes as the body and the query of each route: refused with words, or fit for a handler. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/json.h"
#include "base/utf8.h"
#include "serve/routes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_error(struct error *err)
{
    if (err->code != E_INVALID && err->code != E_TOO_LARGE)
        abort();
    if (!err->message || strchr(err->message, '\n') ||
        utf8_valid(err->message, strlen(err->message)) != strlen(err->message))
        abort();
    error_done(err);
}

/* The conditions that every handler of a program counts on. */
static void check_fit(const json_t *body)
{
    for (size_t i = 0; i < RUN_LIMIT_REQUEST_ROWS; i++) {
        const struct run_limit *limit = &run_limit_table[i];
        const json_t *value = json_object_get(body, limit->name);

        if (value && !run_limit_fits(limit, json_number_value(value)))
            abort();
    }
    if (json_object_get(body, "code") && !json_string_value(json_object_get(body, "code")))
        abort();
}

static void try_route(const struct route *route, const json_t *body, struct span query)
{
    struct error err = {0};
    json_t *value = NULL;

    if (route->body && json_is_object(body)) {
        if (schema_check(route->body, body, &err) < 0)
            check_error(&err);
        else
            check_fit(body);
    }
    if (schema_read_query(route->query, query, &value, &err) < 0)
        check_error(&err);
    json_decref(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const struct json_text_limits limits = {.bytes = MIB, .depth = 32};
    struct error err = {0};
    json_t *body = NULL;

    if (json_text_load((const char *)data, len, &limits, &body, &err) < 0)
        check_error(&err);
    for (const struct route *const *table = serve_routes; *table; table++)
        for (const struct route *r = *table; r->method; r++)
            try_route(r, body, (struct span){(const char *)data, len});
    json_decref(body);
    return 0;
}
