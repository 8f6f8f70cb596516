/* Signed addresses of files: "v1_" and the hash of "PATH:OPERATION:USER:TOKEN[:END]". */
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/sha256.h"
#include "base/span.h"
#include "compat/e2b_internal.h"

bool e2b_is_secret(struct span given, const char *secret)
{
    uint8_t a[SHA256_BYTES], b[SHA256_BYTES];

    if (!given.data)
        return false;
    sha256(given.data, given.len, a);
    sha256(secret, strlen(secret), b);
    return !sha256_differs(a, b);
}

/* Whole seconds since 1970, and nothing else. */
static bool read_end(const char *text, uint64_t *ret_seconds)
{
    uint64_t seconds = 0;

    if (!*text || strlen(text) > 15)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
        seconds = seconds * 10 + (uint64_t)(*text - '0');
    }
    *ret_seconds = seconds;
    return true;
}

/* A user with a colon could stand for another path. */
bool e2b_signature_read(const json_t *query, bool is_read, uint64_t now_ms,
                        struct e2b_signed *ret_signed)
{
    uint64_t end;

    *ret_signed = (struct e2b_signed){
        .path = json_get_text(query, "path"),
        .user = json_get_text(query, "username"),
        .end = json_string_value(json_object_get(query, "signature_expiration")),
        .signature = json_get_text(query, "signature"),
        .is_read = is_read,
    };
    return !strchr(ret_signed->user, ':') &&
           (!ret_signed->end || (read_end(ret_signed->end, &end) && end >= (now_ms + 999) / 1000));
}

/* The base64 has no padding. */
bool e2b_signature_is_of(const struct e2b_signed *q, const char *token)
{
    cleanup(buf_done) struct buf text = BUF_OF((size_t)4 * PATH_MAX), expected = BUF_OF(128);
    uint8_t digest[SHA256_BYTES];

    if (buf_printf(&text, NULL, "%s:%s:%s:%s%s%s", q->path, q->is_read ? "read" : "write", q->user,
                   token, q->end ? ":" : "", q->end ? q->end : "") < 0)
        return false;
    sha256(buf_str(&text), text.len, digest);
    explicit_bzero(text.data, text.len);
    if (buf_add_str(&expected, "v1_", NULL) < 0 ||
        base64_add(&expected, digest, sizeof(digest), NULL) < 0)
        return false;
    while (expected.len && expected.data[expected.len - 1] == '=')
        expected.data[--expected.len] = '\0';
    return e2b_is_secret((struct span){q->signature, strlen(q->signature)}, buf_str(&expected));
}
