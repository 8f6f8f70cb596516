/* Writing JSON text. The bytes are those of jansson, with DEL and the C1 controls escaped as well.
 * jansson itself calls printf for each control character, which costs a hundred nanoseconds a byte.
 */
#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fiber.h"
#include "base/utf8.h"

/* So many digits give every decimal fraction back as it was written, and so many every double. */
#define REAL_DIGITS_MIN 15
#define REAL_DIGITS_MAX 17

/* As deep as jansson reads and writes. It bounds the stack if a value contains itself. */
#define DEPTH_MAX 2048

#define ESCAPE_BYTES 6 /* a backslash, u and four digits */
#define NUMBER_BYTES 64
#define CHUNK_BYTES  1024
#define INDENT       2

/* Written between two looks at the clock, in a fiber. */
#define PAUSE_BYTES ((size_t)64 << 10)

/* The fewest digits with which every number of the tree is read back as itself: 1.9 is to look
 * like 1.9, and 0.1 + 0.2 must not become 0.3. */
static int digits_needed(const json_t *value)
{
    int digits = REAL_DIGITS_MIN;
    const json_t *item;
    const char *key;
    char text[40];
    size_t i;

    if (json_is_array(value)) {
        json_array_foreach(value, i, item)
        {
            int n = digits_needed(item);

            digits = n > digits ? n : digits;
        }
    } else if (json_is_object(value)) {
        json_object_foreach((json_t *)value, key, item)
        {
            int n = digits_needed(item);

            digits = n > digits ? n : digits;
        }
    } else if (json_is_real(value)) {
        for (; digits < REAL_DIGITS_MAX; digits++) {
            (void)snprintf(text, sizeof(text), "%.*g", digits, json_real_value(value));
            if (strtod(text, NULL) == json_real_value(value))
                break;
        }
    }
    return digits;
}

/* The treatment of a byte in a string. Any other value is the letter after the backslash. */
enum { PLAIN = 0, CODE = 1, WIDE = 2 };

static const unsigned char escapes[256] = {
    [0x00 ... 0x07] = CODE, ['\b'] = 'b',           ['\t'] = 't',
    ['\n'] = 'n',           [0x0b] = CODE,          ['\f'] = 'f',
    ['\r'] = 'r',           [0x0e ... 0x1f] = CODE, ['"'] = '"',
    ['\\'] = '\\',          [0x7f] = CODE,          [0x80 ... 0xff] = WIDE,
};

struct dump {
    struct buf *out;
    size_t paused_at; /* so much was written before the last pause */
    size_t real_flags;
    bool is_pretty;
    struct error *err;
};

/* Writing a text of megabytes takes tens of milliseconds: in a fiber others have their turn. */
static int add(struct dump *dump, const char *text, size_t len)
{
    if (dump->out->len - dump->paused_at > PAUSE_BYTES) {
        fiber_pause();
        dump->paused_at = dump->out->len;
        if (fiber_is_cancelled())
            return error_set(dump->err, E_BUSY, "the text is no longer wanted");
    }
    return buf_add(dump->out, text, len, dump->err);
}

/* jansson has capital digits in its escapes; those of DEL and C1 have always been small here. */
static size_t put_code(char *to, unsigned char code)
{
    const char *digits = code < 0x20 ? "0123456789ABCDEF" : "0123456789abcdef";
    static const char begin[4] = {'\\', 'u', '0', '0'};

    memcpy(to, begin, sizeof(begin));
    to[4] = digits[code >> 4];
    to[5] = digits[code & 15];
    return ESCAPE_BYTES;
}

/* Writes the character at `text`, at most ESCAPE_BYTES. Returns its length in `text`, or 0 if it is
 * not UTF-8. */
static size_t put_character(const char *text, size_t len, char *to, size_t *ret_written)
{
    unsigned char byte = (unsigned char)text[0];
    uint32_t c = 0;
    int n;

    switch (escapes[byte]) {
    case CODE:
        *ret_written = put_code(to, byte);
        return 1;
    case WIDE:
        n = utf8_decode(text, len, &c);
        if (n <= 0)
            return 0;
        if (c < 0xa0) {
            *ret_written = put_code(to, (unsigned char)c);
        } else {
            memcpy(to, text, (size_t)n);
            *ret_written = (size_t)n;
        }
        return (size_t)n;
    default:
        to[0] = '\\';
        to[1] = (char)escapes[byte];
        *ret_written = 2;
        return 1;
    }
}

/* The inside of a string, by chunks: to ask the buffer for room for each character takes longer
 * than to write it. */
static int dump_characters(struct dump *dump, const char *text, size_t len)
{
    char chunk[CHUNK_BYTES];
    size_t used = 0;

    for (size_t at = 0; at < len;) {
        size_t written, n;

        if (used > sizeof(chunk) - ESCAPE_BYTES) {
            if (add(dump, chunk, used) < 0)
                return -1;
            used = 0;
        }
        if (escapes[(unsigned char)text[at]] == PLAIN) {
            chunk[used++] = text[at++];
            continue;
        }
        n = put_character(text + at, len - at, chunk + used, &written);
        if (!n)
            return error_set(dump->err, E_SYSTEM, "cannot write JSON: a string is not UTF-8");
        at += n;
        used += written;
    }
    return add(dump, chunk, used);
}

static int dump_string(struct dump *dump, const char *text, size_t len)
{
    if (add(dump, "\"", 1) < 0 || dump_characters(dump, text, len) < 0)
        return -1;
    return add(dump, "\"", 1);
}

/* By hand: printf takes ten times as long, and an answer may have a hundred thousand. */
static int dump_integer(struct dump *dump, json_int_t value)
{
    char text[NUMBER_BYTES];
    size_t at = sizeof(text);
    unsigned long long left = value < 0 ? 0 - (unsigned long long)value : (unsigned long long)value;

    do
        text[--at] = (char)('0' + left % 10);
    while (left /= 10);
    if (value < 0)
        text[--at] = '-';
    return add(dump, text + at, sizeof(text) - at);
}

static int dump_number(struct dump *dump, const json_t *value)
{
    char text[NUMBER_BYTES];
    size_t len;

    if (json_is_integer(value))
        return dump_integer(dump, json_integer_value(value));
    len = json_dumpb(value, text, sizeof(text), dump->real_flags);
    if (!len || len > sizeof(text))
        return error_set(dump->err, E_SYSTEM, "cannot write JSON: a number cannot be written");
    return add(dump, text, len);
}

static int start_line(struct dump *dump, unsigned depth)
{
    if (!dump->is_pretty)
        return 0;
    return buf_printf(dump->out, dump->err, "\n%*s", (int)(INDENT * depth), "");
}

static int dump_value(struct dump *dump, const json_t *value, unsigned depth);

static int dump_array(struct dump *dump, const json_t *array, unsigned depth)
{
    size_t n = json_array_size(array);

    if (!n)
        return add(dump, "[]", 2);
    for (size_t i = 0; i < n; i++)
        if (add(dump, i ? "," : "[", 1) < 0 || start_line(dump, depth + 1) < 0 ||
            dump_value(dump, json_array_get(array, i), depth + 1) < 0)
            return -1;
    return start_line(dump, depth) < 0 ? -1 : add(dump, "]", 1);
}

static size_t key_len(void *at)
{
#if JANSSON_VERSION_HEX >= 0x020e00
    return json_object_iter_key_len(at);
#else
    return strlen(json_object_iter_key(at));
#endif
}

static int dump_object(struct dump *dump, json_t *object, unsigned depth)
{
    const char *before = "{";

    if (!json_object_size(object))
        return add(dump, "{}", 2);
    for (void *at = json_object_iter(object); at; at = json_object_iter_next(object, at)) {
        if (add(dump, before, 1) < 0 || start_line(dump, depth + 1) < 0 ||
            dump_string(dump, json_object_iter_key(at), key_len(at)) < 0 ||
            add(dump, ": ", dump->is_pretty ? 2 : 1) < 0 ||
            dump_value(dump, json_object_iter_value(at), depth + 1) < 0)
            return -1;
        before = ",";
    }
    return start_line(dump, depth) < 0 ? -1 : add(dump, "}", 1);
}

static int dump_value(struct dump *dump, const json_t *value, unsigned depth)
{
    if (!value)
        return error_set(dump->err, E_SYSTEM, "cannot write JSON: out of memory");
    if (depth > DEPTH_MAX)
        return error_set(dump->err, E_SYSTEM, "cannot write JSON of more than %d levels",
                         DEPTH_MAX);
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return dump_object(dump, (json_t *)value, depth);
    case JSON_ARRAY:
        return dump_array(dump, value, depth);
    case JSON_STRING:
        return dump_string(dump, json_string_value(value), json_string_length(value));
    case JSON_INTEGER:
    case JSON_REAL:
        return dump_number(dump, value);
    case JSON_TRUE:
        return add(dump, "true", 4);
    case JSON_FALSE:
        return add(dump, "false", 5);
    case JSON_NULL:
        return add(dump, "null", 4);
    }
    return error_set(dump->err, E_SYSTEM, "cannot write JSON of an unknown type");
}

int json_text_dump(const json_t *value, enum json_text_style style, struct buf *out,
                   struct error *err)
{
    struct dump dump = {
        .out = out, .paused_at = out->len, .is_pretty = style == JSON_TEXT_PRETTY, .err = err};

    dump.real_flags = JSON_ENCODE_ANY | JSON_REAL_PRECISION((size_t)digits_needed(value));
    if (dump_value(&dump, value, 0) < 0)
        return -1;
    return dump.is_pretty ? buf_add(out, "\n", 1, err) : 0;
}
