#include "audit/receipt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/display_hash.h"
#include "base/cleanup.h"
#include "base/json.h"

#define FIELD(name, member)                                                                        \
    {                                                                                              \
        name, offsetof(struct receipt, member), sizeof(((struct receipt *)0)->member), false       \
    }
#define NEWER_FIELD(name, member)                                                                  \
    {                                                                                              \
        name, offsetof(struct receipt, member), sizeof(((struct receipt *)0)->member), true        \
    }

/* In the order in which they are signed. Those marked came with the second version. */
static const struct {
    const char *name;
    size_t offset, size;
    bool is_newer;
} fields[] = {
    FIELD("id", id),
    FIELD("status", status),
    FIELD("time", time),
    FIELD("code_sha256", code),
    FIELD("stdout_sha256", out),
    FIELD("stderr_sha256", err),
    FIELD("result_sha256", result),
    NEWER_FIELD("displays_sha256", displays),
    FIELD("seq", seq),
    FIELD("record_sha256", hash),
    FIELD("key", key),
};

_Static_assert(ARRAY_SIZE(fields) == RECEIPT_FIELDS, "all fields are signed");

static const char *value(const struct receipt *receipt, size_t i)
{
    return (const char *)receipt + fields[i].offset;
}

static bool has_field(const struct receipt *receipt, size_t i)
{
    return receipt->version > 1 || !fields[i].is_newer;
}

static int statement(const struct receipt *receipt, struct buf *out, struct error *err)
{
    if (buf_printf(out, err, "belljar receipt v%u\n", receipt->version) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        if (has_field(receipt, i) &&
            buf_printf(out, err, "%s=%s\n", fields[i].name, value(receipt, i)) < 0)
            return -1;
    return 0;
}

int receipt_sign(struct receipt *receipt, const struct record_mark *mark,
                 const struct key_pair *key, struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(4 * KIB);

    receipt->version = RECEIPT_VERSION;
    memcpy(receipt->time, mark->time, sizeof(receipt->time));
    memcpy(receipt->key, key_public(key)->name, sizeof(receipt->key));
    (void)snprintf(receipt->seq, sizeof(receipt->seq), "%" PRIu64, mark->seq);
    sha256_to_hex(mark->hash, receipt->hash);
    if (statement(receipt, &text, err) < 0)
        return -1;
    return key_sign(key, text.data, text.len, receipt->signature, err);
}

int receipt_text(const struct receipt *receipt, struct buf *out, struct error *err)
{
    json_t *object = json_object();
    char *text = NULL;
    int r = -1;

    (void)json_object_set_new(object, "version", json_integer(receipt->version));
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        (void)json_object_set_new(object, fields[i].name, json_string(value(receipt, i)));
    if (json_object_set_new(object, "signature", json_string(receipt->signature)) == 0 &&
        json_object_size(object) == ARRAY_SIZE(fields) + 2)
        text = json_dumps(object, JSON_COMPACT);
    if (text)
        r = buf_add_str(out, text, err);
    else
        error_memory(err);
    free(text);
    json_decref(object);
    return r;
}

static int not_one(const char *why, struct error *err)
{
    error_set(err, E_INVALID, "this is not a receipt: %s", why);
    return error_hint(err, "it is the object `receipt` of a result, or the result itself");
}

/* Lines of what is signed end with a newline: a value has none. */
static int read_field(const json_t *object, struct receipt *receipt, size_t i, struct error *err)
{
    const json_t *member = json_object_get(object, fields[i].name);
    const char *text = json_string_value(member);
    char why[64];

    if (text && json_string_length(member) < fields[i].size && !strpbrk(text, "\n=")) {
        memcpy((char *)receipt + fields[i].offset, text, strlen(text) + 1);
        return 0;
    }
    (void)snprintf(why, sizeof(why), "`%s` is missing or invalid", fields[i].name);
    return not_one(why, err);
}

/* The first version did not say that it was. */
static int read_version(const json_t *object, struct receipt *receipt, struct error *err)
{
    const json_t *version = json_object_get(object, "version");

    receipt->version = version ? RECEIPT_VERSION : 1;
    if (!version || json_integer_value(version) == RECEIPT_VERSION)
        return 0;
    return not_one("its `version` is not known here", err);
}

static int read_object(const json_t *object, struct receipt *receipt, struct error *err)
{
    const char *sign = json_string_value(json_object_get(object, "signature"));
    size_t count = 1;

    if (read_version(object, receipt, err) < 0)
        return -1;
    count += receipt->version > 1;
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        if (has_field(receipt, i) && read_field(object, receipt, i, err) < 0)
            return -1;
        count += has_field(receipt, i);
    }
    if (!sign || strlen(sign) >= sizeof(receipt->signature))
        return not_one("`signature` is missing or invalid", err);
    memcpy(receipt->signature, sign, strlen(sign) + 1);
    if (json_object_size(object) != count)
        return not_one("it contains unsigned fields", err);
    return 0;
}

int receipt_parse(const char *text, size_t len, struct receipt *ret_receipt, struct error *err)
{
    json_t *root = json_text_own(text, len);
    const json_t *object = json_object_get(root, "receipt");
    struct receipt receipt = {0};
    int r = root ? read_object(object ? object : root, &receipt, err) : not_one("no JSON", err);

    json_decref(root);
    if (r == 0)
        *ret_receipt = receipt;
    return r;
}

int receipt_check(const struct receipt *receipt, const struct key_public *key, struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(4 * KIB);

    if (statement(receipt, &text, err) < 0)
        return -1;
    return key_check(key, text.data, text.len, receipt->signature, err);
}

static bool has_hash(const json_t *text, const char *hex)
{
    uint8_t digest[SHA256_BYTES];
    char own[2 * SHA256_BYTES + 1];

    sha256(json_is_string(text) ? json_string_value(text) : "", json_string_length(text), digest);
    sha256_to_hex(digest, own);
    return strcmp(own, hex) == 0;
}

/* Pictures are large: a result that is kept without its displays is as good as before. */
static int check_displays(const struct receipt *receipt, const json_t *root, struct error *err)
{
    const json_t *list = json_object_get(root, "displays");
    char own[2 * SHA256_BYTES + 1];

    if (receipt->version < 2 || !list)
        return 0;
    if (display_hash_of_list(list, own, NULL) < 0 || strcmp(own, receipt->displays) != 0)
        return error_set(err, E_DENIED, "`displays` of the result does not match the signature");
    return 0;
}

/* Bytes that were no text came out as U+FFFD: what was signed for cannot be seen any more. */
static bool is_seen(const json_t *text)
{
    return !json_is_string(text) || !strstr(json_string_value(text), "\xef\xbf\xbd");
}

int receipt_check_result(const struct receipt *receipt, const char *text, size_t len,
                         struct error *err)
{
    json_t *root = json_text_own(text, len);
    const json_t *id = json_object_get(root, "id"), *status = json_object_get(root, "status");
    const struct {
        const char *name, *hex;
        const json_t *text;
    } texts[] = {
        {"stdout", receipt->out, json_object_get(root, "stdout")},
        {"stderr", receipt->err, json_object_get(root, "stderr")},
        {"result", receipt->result, json_object_get(json_object_get(root, "result"), "text")},
    };
    int r = 0;

    if (json_object_get(root, "receipt")) {
        if (!json_is_string(id) || strcmp(json_string_value(id), receipt->id) != 0 ||
            !json_is_string(status) || strcmp(json_string_value(status), receipt->status) != 0)
            r = error_set(err, E_DENIED, "it belongs to another result");
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(texts); i++)
            if (is_seen(texts[i].text) && !has_hash(texts[i].text, texts[i].hex))
                r = error_set(err, E_DENIED, "`%s` of the result does not match the signature",
                              texts[i].name);
        if (r == 0)
            r = check_displays(receipt, root, err);
    }
    json_decref(root);
    return r;
}

int receipt_mark(const struct receipt *receipt, struct record_mark *ret_mark, struct error *err)
{
    struct record_mark mark = {0};
    char *end;

    errno = 0;
    mark.seq = strtoull(receipt->seq, &end, 10);
    if (errno || *end || !mark.seq || sha256_from_hex(receipt->hash, mark.hash) < 0)
        return not_one("its record number or hash is invalid", err);
    *ret_mark = mark;
    return 0;
}
