/* Settings of other programs, edited. What is put in is found afterwards, is not put in twice, and
 * comes out again; nothing else of the text changes its meaning. The first byte chooses the format.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "base/toml.h"
#include "cli/setup/jsonc.h"
#include "cli/setup/toml_edit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const char *const path[] = {"s", "b", NULL};
static const struct toml_table_name table = {"s", "b"};

static void expect(bool is_true)
{
    if (!is_true)
        abort();
}

static void json(const char *text, size_t len, const json_t *value)
{
    static const char *const other[] = {"t", "x", NULL};
    cleanup(buf_done) struct buf one = {0}, two = {0};
    cleanup_error struct error err = {0};
    json_t *found = NULL, *before = NULL, *after = NULL;
    bool had_other = jsonc_get(text, len, other, &before, NULL) == 0;

    buf_init(&one, MIB);
    buf_init(&two, MIB);
    if (jsonc_put(text, len, path, value, &one, &err) < 0) {
        expect(err.code == E_INVALID && err.message);
    } else {
        expect(jsonc_get(buf_str(&one), one.len, path, &found, NULL) == 0);
        expect(json_equal(found, value));
        expect(jsonc_put(buf_str(&one), one.len, path, value, &two, NULL) == 0);
        expect(two.len == one.len && memcmp(buf_str(&one), buf_str(&two), one.len) == 0);
        json_decref(found);
        found = NULL;
        expect(jsonc_remove(buf_str(&one), one.len, path, &two, NULL) == 0);
        expect(jsonc_get(buf_str(&two), two.len, path, &found, NULL) == 0 && !found);
        if (had_other) {
            expect(jsonc_get(buf_str(&two), two.len, other, &after, NULL) == 0);
            expect(json_equal(before, after) || (!before && !after));
        }
    }
    json_decref(before);
    json_decref(after);
}

/* The editor compares meanings itself; here, that it does not stumble. */
static void toml(const char *text, size_t len, const json_t *value)
{
    cleanup(buf_done) struct buf one = {0}, two = {0};
    cleanup_error struct error err = {0};
    json_t *found = NULL;

    buf_init(&one, MIB);
    buf_init(&two, MIB);
    if (toml_edit_put(text, len, &table, value, &one, &err) < 0) {
        expect(err.code != E_NONE && err.code != E_INTERNAL && err.message);
        return;
    }
    expect(toml_edit_get(buf_str(&one), one.len, &table, &found, NULL) == 0);
    expect(json_equal(json_object_get(found, "command"), json_object_get(value, "command")));
    json_decref(found);
    expect(toml_edit_put(buf_str(&one), one.len, &table, value, &two, NULL) == 0);
    expect(two.len == one.len && memcmp(buf_str(&one), buf_str(&two), one.len) == 0);
    (void)toml_edit_remove(buf_str(&one), one.len, &table, &two, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    json_t *value;

    if (len == 0 || len > 64 * KIB)
        return 0;
    value = json_pack("{s:s, s:[s,s]}", "command", "/b", "args", "mcp", "a\"\\\n\x7f");
    if (data[0] == 't')
        toml((const char *)data + 1, len - 1, value);
    else
        json((const char *)data + 1, len - 1, value);
    json_decref(value);
    return 0;
}
