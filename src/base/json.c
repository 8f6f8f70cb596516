#include "base/json.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fiber.h"
#include "base/limits.h"
#include "base/utf8.h"

#define REPLACEMENT "\xef\xbf\xbd"

/* Memory of a value beside its text, roughly: an empty object has two bytes of text, and takes two
 * hundred of memory. */
#define CONTAINER_BYTES ((size_t)200)
#define VALUE_BYTES     ((size_t)64)

/* Read between two looks at the clock, in a fiber: a few hundred microseconds. */
#define PAUSE_BYTES ((size_t)32 << 10)

/* Others have their turn; then, whether this one's work is of no use any more. */
static bool is_unwanted(void)
{
    fiber_pause();
    return fiber_is_cancelled();
}

/* Before anything is built: jansson recurses, with a bound that is fixed and far above what we want
 * to walk through again, and takes a hundred times the memory of a text that is made for it. */
static int check_shape(const char *text, size_t len, const struct json_text_limits *limits,
                       struct error *err)
{
    unsigned depth = 0, max = limits->depth;
    bool is_string = false;
    size_t memory = 0, digits = 0;

    for (size_t i = 0; i < len; i++) {
        if (i % PAUSE_BYTES == 0 && is_unwanted())
            return error_set(err, E_BUSY, "the text is no longer wanted");
        digits = !is_string && text[i] >= '0' && text[i] <= '9' ? digits + 1 : 0;
        if (digits > LIMIT_JSON_NUMBER)
            return error_set(err, E_INVALID, "read a number of more than %d digits",
                             LIMIT_JSON_NUMBER);
        if (is_string) {
            if (text[i] == '\\')
                i++;
            else if (text[i] == '"')
                is_string = false;
        } else if (text[i] == '"') {
            is_string = true;
        } else if (text[i] == ',' || text[i] == ':') {
            memory += VALUE_BYTES;
        } else if (text[i] == '[' || text[i] == '{') {
            memory += CONTAINER_BYTES;
            if (++depth > max)
                return error_set(err, E_TOO_LARGE,
                                 "read JSON nested more than %u levels, expected fewer", max);
        } else if (depth && (text[i] == ']' || text[i] == '}')) {
            depth--;
        }
    }
    return memory <= (limits->memory ? limits->memory : LIMIT_JSON_MEMORY) || limits->allows_many
               ? 0
               : error_set(err, E_TOO_LARGE, "read JSON of too many values, expected fewer");
}

/* The text by pieces, with a pause between them. */
struct source {
    const char *text;
    size_t len, at;
};

static size_t read_piece(void *buffer, size_t size, void *arg)
{
    struct source *source = arg;
    size_t n = source->len - source->at < size ? source->len - source->at : size;

    if (source->at / PAUSE_BYTES != (source->at + n) / PAUSE_BYTES)
        n = is_unwanted() ? 0 : n; /* a text that ends here is broken */
    memcpy(buffer, source->text + source->at, n);
    source->at += n;
    return n;
}

static json_t *load(const char *text, size_t len, size_t flags, json_error_t *mistake)
{
    struct source source = {.text = text, .len = len};

    if (!fiber_is_running())
        return json_loadb(text, len, flags, mistake);
    return json_load_callback(read_piece, &source, flags, mistake);
}

int json_text_load(const char *text, size_t len, const struct json_text_limits *limits,
                   json_t **ret_value, struct error *err)
{
    size_t flags = JSON_REJECT_DUPLICATES;
    json_error_t mistake;
    json_t *value;

    if (len > limits->bytes)
        return error_set(err, E_TOO_LARGE, "read %zu bytes of JSON, expected at most %zu", len,
                         limits->bytes);
    if (check_shape(text, len, limits, err) < 0)
        return -1;
    if (limits->allows_nul)
        flags |= JSON_ALLOW_NUL;
    if (limits->allows_scalar)
        flags |= JSON_DECODE_ANY;
    value = load(text, len, flags, &mistake);
    if (!value && json_error_code(&mistake) == json_error_out_of_memory)
        return error_memory(err);
    if (!value)
        return error_set(err, E_INVALID, "line %d, column %d of the JSON: %s", mistake.line,
                         mistake.column,
                         json_error_code(&mistake) == json_error_null_character
                             ? "a string contains \\u0000, which is not accepted"
                             : mistake.text);
    *ret_value = value;
    return 0;
}

json_t *json_text_own(const char *text, size_t len)
{
    static const struct json_text_limits limits = {
        .bytes = JSON_TEXT_OWN_BYTES, .depth = 1024, .allows_nul = true, .allows_many = true};
    json_t *value = NULL;

    return json_text_load(text, len, &limits, &value, NULL) < 0 ? NULL : value;
}

json_t *json_text_own_file(const char *path)
{
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
    cleanup(buf_done) struct buf text = BUF_OF(JSON_TEXT_OWN_BYTES);

    return fd < 0 || buf_read_fd(&text, fd, NULL) < 0 ? NULL
                                                      : json_text_own(buf_str(&text), text.len);
}

/* Looked at between two looks at the clock: less than a millisecond. */
#define LOOK_BYTES    ((size_t)256 << 10)
#define CHARACTER_MAX 4

bool json_text_is_utf8(const char *bytes, size_t len)
{
    size_t at = 0;

    while (at < len) {
        size_t want = len - at < LOOK_BYTES ? len - at : LOOK_BYTES;
        size_t n = utf8_valid(bytes + at, want);

        /* A character may be cut at the end of the piece. */
        if (n < want && (at + want == len || want - n >= CHARACTER_MAX))
            return false;
        at += n;
        if (at < len)
            fiber_pause();
    }
    return true;
}

/* One U+FFFD for each byte that begins no character, as most decoders do; at the end of the bytes a
 * cut character is one. */
static int add_lossy(const char *bytes, size_t len, struct buf *out)
{
    size_t next = LOOK_BYTES;

    while (len) {
        size_t valid = utf8_valid(bytes, len < LOOK_BYTES ? len : LOOK_BYTES);
        size_t bad;

        if (out->len >= next) {
            fiber_pause();
            next = out->len + LOOK_BYTES;
        }
        if (buf_add(out, bytes, valid, NULL) < 0)
            return -1;
        bytes += valid;
        len -= valid;
        if (!len)
            break;
        if (utf8_decode(bytes, len, NULL) > 0) /* cut at the end of the piece */
            continue;
        bad = utf8_decode(bytes, len, NULL) == UTF8_PARTIAL ? len : 1;
        if (buf_add_str(out, REPLACEMENT, NULL) < 0)
            return -1;
        bytes += bad;
        len -= bad;
    }
    return 0;
}

json_t *json_text_string(const char *bytes, size_t len)
{
    cleanup(buf_done) struct buf text = {0};

    if (json_text_is_utf8(bytes, len))
        return json_stringn_nocheck(bytes, len);
    /* A replacement has three bytes for one. */
    if (len > LIMIT_OUTPUT_BYTES_MAX + MIB)
        return NULL;
    buf_init(&text, 3 * len);
    if (add_lossy(bytes, len, &text) < 0)
        return NULL;
    return json_stringn_nocheck(buf_str(&text), text.len);
}

bool json_are_strings(const json_t *list)
{
    const json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        if (!json_is_string(item))
            return false;
    }
    return json_is_array(list);
}
