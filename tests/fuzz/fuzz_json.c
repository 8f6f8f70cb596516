/* JSON in; what is accepted is written and read again as the same value, and no control character
 * comes out. */
#include <stdint.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/limits.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_string(const char *bytes, size_t len)
{
    json_t *value = json_text_string(bytes, len);

    if (!value)
        abort();
    json_decref(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const struct json_text_limits limits = {
        .bytes = MIB, .depth = 64, .allows_nul = true, .allows_scalar = true};
    struct error err = {0};
    json_t *value = NULL, *again = NULL;
    struct buf text;

    check_string((const char *)data, len);
    buf_init(&text, 16 * MIB);
    if (json_text_load((const char *)data, len, &limits, &value, &err) < 0) {
        if (value || err.code == E_NONE || !err.message)
            abort();
        error_done(&err);
        return 0;
    }
    if (json_text_dump(value, JSON_TEXT_COMPACT, &text, &err) < 0)
        abort();
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.data[i] < 0x20 || text.data[i] == 0x7f)
            abort();
    /* A number at the edge of what a double holds may be written longer than it was, but never
     * refused. */
    if (text.len <= limits.bytes) {
        if (json_text_load(text.data, text.len, &limits, &again, &err) < 0 ||
            !json_equal(value, again))
            abort();
        json_decref(again);
    }
    json_decref(value);
    buf_done(&text);
    return 0;
}
