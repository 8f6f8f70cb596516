/* A signed address of any bytes: 'r' or 'w', then the query. What is accepted has the signature of
 * its own path, operation, user and end, and of nothing else; the token is known here. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/schema.h"
#include "base/base64.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/sha256.h"
#include "compat/compat.h"
#include "compat/e2b_internal.h"

#define TOKEN  "sbx_0123456789abcdef"
#define NOW_MS ((uint64_t)1800000000 * 1000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* As a client makes it. */
static void check(const struct e2b_signed *given, bool is_read)
{
    cleanup(buf_done) struct buf text = BUF_OF(64 * KIB), expected = BUF_OF(128);
    uint8_t digest[SHA256_BYTES];

    if (strchr(given->user, ':') || (given->end && strtoull(given->end, NULL, 10) < NOW_MS / 1000))
        abort();
    if (buf_add_str(&text, given->path, NULL) < 0 ||
        buf_add_str(&text, is_read ? ":read:" : ":write:", NULL) < 0 ||
        buf_add_str(&text, given->user, NULL) < 0 || buf_add_str(&text, ":" TOKEN, NULL) < 0 ||
        (given->end &&
         (buf_add_str(&text, ":", NULL) < 0 || buf_add_str(&text, given->end, NULL) < 0)))
        return;
    sha256(buf_str(&text), text.len, digest);
    if (base64_add(&expected, digest, sizeof(digest), NULL) < 0)
        return;
    if (strncmp(given->signature, "v1_", 3) != 0 ||
        strncmp(given->signature + 3, buf_str(&expected), 43) != 0 ||
        strlen(given->signature) != 46)
        abort();
}

static const struct schema_field *fields(void)
{
    const struct route *route = e2b_routes;

    while (strcmp(route->path, "/files") != 0)
        route++;
    return route->query;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    bool is_read = len && *data == 'r';
    cleanup_json json_t *query = NULL;
    cleanup_error struct error err = {0};
    struct e2b_signed given;

    if (!len || schema_read_query(fields(), (struct span){(const char *)data + 1, len - 1}, &query,
                                  &err) < 0)
        return 0;
    if (e2b_signature_read(query, is_read, NOW_MS, &given) && e2b_signature_is_of(&given, TOKEN))
        check(&given, is_read);
    return 0;
}
