/* Exact values that are known to be secret, in the forms in which they turn up. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "scrub/scrub_internal.h"

#define VALUE_MAX ((size_t)2048) /* a key in PEM; four times as much when escaped */
#define FORMS_MAX 4096
#define FORM_MIN  4
#define BUCKETS   4096
#define NO_FORM   UINT32_MAX

struct form {
    char *text;
    size_t len;
    uint32_t next; /* in its bucket */
};

struct scrub_values {
    struct form *forms;
    uint32_t count, size;
    size_t longest;
    uint32_t buckets[BUCKETS]; /* by the first four bytes */
};

struct scrub_values *scrub_values_new(void)
{
    struct scrub_values *values = calloc(1, sizeof(*values));

    if (values)
        memset(values->buckets, 0xff, sizeof(values->buckets));
    return values;
}

void scrub_values_free(struct scrub_values *values)
{
    if (!values)
        return;
    for (uint32_t i = 0; i < values->count; i++) {
        explicit_bzero(values->forms[i].text, values->forms[i].len);
        free(values->forms[i].text);
    }
    free(values->forms);
    free(values);
}

static unsigned bucket_of(const char *text)
{
    uint32_t head;

    memcpy(&head, text, sizeof(head));
    return head * 2654435761u >> 20;
}

static int add_form(struct scrub_values *values, const char *text, size_t len, struct error *err)
{
    struct form *form;
    unsigned bucket;

    if (len < FORM_MIN)
        return 0;
    bucket = bucket_of(text);
    for (uint32_t i = values->buckets[bucket]; i != NO_FORM; i = values->forms[i].next)
        if (values->forms[i].len == len && memcmp(values->forms[i].text, text, len) == 0)
            return 0;
    if (values->count == FORMS_MAX)
        return error_set(err, E_TOO_LARGE, "too many secrets to look for");
    if (values->count == values->size) {
        uint32_t size = values->size ? 2 * values->size : 16;
        struct form *grown = reallocarray(values->forms, size, sizeof(*grown));

        if (!grown)
            return error_set(err, E_SYSTEM, "out of memory");
        values->forms = grown;
        values->size = size;
    }
    form = &values->forms[values->count];
    form->text = malloc(len);
    if (!form->text)
        return error_set(err, E_SYSTEM, "out of memory");
    memcpy(form->text, text, len);
    form->len = len;
    form->next = values->buckets[bucket];
    values->buckets[bucket] = values->count++;
    if (len > values->longest)
        values->longest = len;
    return 0;
}

/* ---- encodings ---- */

/* In base64 a value looks different depending on how many bytes stand before it, modulo three. The
 * characters at both ends that its neighbours share are left out. */
static int add_base64(struct scrub_values *values, const char *value, size_t len,
                      const char *alphabet, struct error *err)
{
    char text[VALUE_MAX * 2];

    for (size_t skip = 0; skip < 3; skip++) {
        size_t n = 0, first = skip ? skip + 1 : 0; /* characters that hold bits of what is before */
        size_t whole = (skip + len) * 8 / 6;       /* those that hold no bit of what is behind */

        for (size_t i = first; i < whole; i++) {
            unsigned bits = 0;

            for (size_t b = i * 6; b < i * 6 + 6; b++) {
                size_t byte = b / 8 - skip;

                bits = bits << 1 | ((unsigned char)value[byte] >> (7 - b % 8) & 1);
            }
            text[n++] = alphabet[bits];
        }
        if (n >= 6 && add_form(values, text, n, err) < 0)
            return -1;
    }
    return 0;
}

static int add_hex(struct scrub_values *values, const char *value, size_t len, const char *digits,
                   struct error *err)
{
    char text[VALUE_MAX * 2];

    for (size_t i = 0; i < len; i++) {
        text[2 * i] = digits[(unsigned char)value[i] >> 4];
        text[2 * i + 1] = digits[(unsigned char)value[i] & 15];
    }
    return add_form(values, text, 2 * len, err);
}

/* Percent-encoded: what must be, and in the other form what may be. */
static int add_percent(struct scrub_values *values, const char *value, size_t len,
                       const char *digits, const char *safe, bool is_form, struct error *err)
{
    char text[VALUE_MAX * 3];
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)value[i];

        if (c && (scrub_is_alnum(c) || strchr(safe, c))) {
            text[n++] = (char)c;
        } else if (is_form && c == ' ') {
            text[n++] = '+';
        } else {
            text[n++] = '%';
            text[n++] = digits[c >> 4];
            text[n++] = digits[c & 15];
        }
    }
    return add_form(values, text, n, err);
}

/* Escaped as in a string of JSON; with `is_ascii` characters beyond ASCII as \uXXXX, and with
 * `slash` a / as \/. */
static int add_json(struct scrub_values *values, const char *value, size_t len, bool escapes_slash,
                    unsigned depth, struct error *err)
{
    static const char from[] = "\"\\\n\r\t\b\f", to[] = "\"\\nrtbf";
    cleanup_free char *text = malloc(len * 6 * 2 + 1);
    cleanup_free char *copy = NULL;
    size_t n = 0;

    if (!text)
        return error_set(err, E_SYSTEM, "out of memory");
    for (size_t i = 0; i < len; i++) {
        const char *at = value[i] ? strchr(from, value[i]) : NULL;

        if (at || (escapes_slash && value[i] == '/')) {
            text[n++] = '\\';
            text[n++] = (char)(at ? to[at - from] : '/');
        } else if ((unsigned char)value[i] < 0x20) {
            n += (size_t)snprintf(text + n, 7, "\\u%04x", (unsigned)(unsigned char)value[i]);
        } else {
            text[n++] = value[i];
        }
    }
    if (add_form(values, text, n, err) < 0)
        return -1;
    if (depth == 0 || n == len || n > VALUE_MAX)
        return 0;
    copy = take_ptr(text);
    return add_json(values, copy, n, false, depth - 1, err); /* JSON in JSON */
}

int scrub_values_add(struct scrub_values *values, const char *value, size_t len, struct error *err)
{
    static const char standard[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static const char for_urls[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    static const char lower[] = "0123456789abcdef", upper[] = "0123456789ABCDEF";

    if (len < SCRUB_VALUE_MIN || len > VALUE_MAX)
        return error_set(err, E_INVALID, "a secret to look for has %zu to %zu bytes",
                         SCRUB_VALUE_MIN, VALUE_MAX);
    if (add_form(values, value, len, err) < 0 ||
        add_base64(values, value, len, standard, err) < 0 ||
        add_base64(values, value, len, for_urls, err) < 0 ||
        add_hex(values, value, len, lower, err) < 0 || add_hex(values, value, len, upper, err) < 0)
        return -1;
    for (int i = 0; i < 2; i++) {
        const char *digits = i ? upper : lower;

        if (add_percent(values, value, len, digits, "-._~", false, err) < 0 ||
            add_percent(values, value, len, digits, "-._~/", false, err) < 0 ||
            add_percent(values, value, len, digits, "-._~*", true, err) < 0)
            return -1;
    }
    return add_json(values, value, len, false, 1, err) < 0
               ? -1
               : add_json(values, value, len, true, 1, err);
}

/* ---- looking for them ---- */

static size_t longest_at(const struct scrub_values *values, const char *text, size_t len)
{
    size_t best = 0;

    for (uint32_t i = values->buckets[bucket_of(text)]; i != NO_FORM; i = values->forms[i].next) {
        const struct form *form = &values->forms[i];

        if (form->len <= len && form->len > best && memcmp(form->text, text, form->len) == 0)
            best = form->len;
    }
    return best;
}

/* The text may be the beginning of a value. */
static bool is_begun(const struct scrub_values *values, const char *text, size_t len)
{
    for (uint32_t i = 0; i < values->count; i++)
        if (values->forms[i].len > len && memcmp(values->forms[i].text, text, len) == 0)
            return true;
    return false;
}

void scrub_values_scan(struct scrub *s)
{
    const struct scrub_values *values = s->options.values;
    size_t at = s->emitted, last = s->view.len;

    if (!values->count)
        return;
    for (; at + FORM_MIN <= last; at++) {
        size_t len;

        if (values->buckets[bucket_of(scrub_view(s, at))] == NO_FORM)
            continue;
        len = longest_at(values, scrub_view(s, at), last - at);
        if (len) {
            scrub_found(s, SCRUB_KIND_VALUE, at, at, at + len);
            at += len - 1;
        }
    }
    if (s->is_final)
        return;
    at = last > values->longest ? last - values->longest : 0;
    for (at = at > s->emitted ? at : s->emitted; at < last; at++) {
        const char *text = scrub_view(s, at);

        if (last - at >= FORM_MIN && values->buckets[bucket_of(text)] == NO_FORM)
            continue;
        if (is_begun(values, text, last - at)) {
            scrub_wait(s, SCRUB_KIND_VALUE, at, at);
            return;
        }
    }
}
