#include "audit/display_hash.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/display_form.h"
#include "base/json.h"

static int add_line(struct buf *lines, uint64_t bundle, const char *mime, const void *data,
                    size_t len, struct error *err)
{
    uint8_t digest[SHA256_BYTES];
    char hex[2 * SHA256_BYTES + 1];

    sha256(data, len, digest);
    sha256_to_hex(digest, hex);
    return buf_printf(lines, err, "%" PRIu64 " %s %s\n", bundle, mime, hex);
}

static int add_value(struct buf *lines, uint64_t bundle, const char *mime, const json_t *value,
                     struct error *err)
{
    cleanup_free char *text = NULL;

    if (json_is_string(value))
        return add_line(lines, bundle, mime, json_string_value(value), json_string_length(value),
                        err);
    text = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
    if (!text)
        return error_memory(err);
    return add_line(lines, bundle, mime, text, strlen(text), err);
}

static void conclude(const struct buf *lines, char hex[2 * SHA256_BYTES + 1])
{
    uint8_t digest[SHA256_BYTES];

    sha256(lines->len ? lines->data : "", lines->len, digest);
    sha256_to_hex(digest, hex);
}

/* As many lines as there can be forms, each as long as it can be. */
static void begin(struct buf *lines)
{
    buf_init(lines, 64 * MIB);
}

static int add_form(struct buf *lines, uint64_t bundle, const struct run_form *form,
                    struct error *err)
{
    const char *encoding;

    if (form_is_binary(form->mime))
        return add_line(lines, bundle, form->mime, form->data, form->len, err);
    cleanup_json json_t *value = form_data(form, &encoding);

    return value ? add_value(lines, bundle, form->mime, value, err) : error_memory(err);
}

int display_hash_of_run(const struct run *run, char hex[2 * SHA256_BYTES + 1], struct error *err)
{
    cleanup(buf_done) struct buf lines = {0};

    begin(&lines);
    for (size_t i = 0; i < run->result.n_displays; i++)
        for (size_t k = 0; k < run->result.displays[i].n_forms; k++)
            if (add_form(&lines, i, &run->result.displays[i].forms[k], err) < 0)
                return -1;
    conclude(&lines, hex);
    return 0;
}

static int add_entry(struct buf *lines, const json_t *entry, struct error *err)
{
    cleanup(buf_done) struct buf bytes = BUF_OF(2 * LIMIT_DISPLAY_BYTES);
    const json_t *bundle = json_object_get(entry, "bundle"), *data = json_object_get(entry, "data");
    const char *mime = json_string_value(json_object_get(entry, "mime"));
    const char *encoding = json_string_value(json_object_get(entry, "encoding"));

    if (!json_is_integer(bundle) || json_integer_value(bundle) < 0 || !mime || !data ||
        strpbrk(mime, " \n"))
        return error_set(err, E_INVALID, "`displays` is not a list of displays");
    if (!encoding)
        return add_value(lines, (uint64_t)json_integer_value(bundle), mime, data, err);
    if (strcmp(encoding, "base64") != 0 || !json_is_string(data) ||
        base64_decode(&bytes, json_string_value(data), json_string_length(data), NULL) < 0)
        return error_set(err, E_INVALID, "`displays` is not a list of displays");
    return add_line(lines, (uint64_t)json_integer_value(bundle), mime, bytes.len ? bytes.data : "",
                    bytes.len, err);
}

int display_hash_of_list(const json_t *list, char hex[2 * SHA256_BYTES + 1], struct error *err)
{
    cleanup(buf_done) struct buf lines = {0};

    begin(&lines);
    if (!json_is_array(list))
        return error_set(err, E_INVALID, "`displays` is not a list of displays");
    for (size_t i = 0; i < json_array_size(list); i++)
        if (add_entry(&lines, json_array_get(list, i), err) < 0)
            return -1;
    conclude(&lines, hex);
    return 0;
}
