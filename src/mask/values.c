/* Exact values that are known to be secret, in the forms in which they turn up. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "mask/internal.h"

#define VALUE_MAX ((size_t)2048) /* a key in PEM; four times as much when escaped */
#define FORMS_MAX 4096
#define FORM_MIN  4
#define WRAP_MIN  16 /* so long is a line at least */
#define BUCKETS   4096
#define NO_FORM   UINT32_MAX

struct form {
    char *text;
    size_t len;
    uint32_t next; /* in its bucket */
    bool may_wrap; /* lines may end inside, as base64(1) writes them */
};

struct masker_values {
    struct form *forms;
    uint32_t count, size;
    size_t longest;
    uint32_t buckets[BUCKETS];       /* by the first four bytes */
    uint8_t beginnings[BUCKETS / 8]; /* the first one, two and three bytes, hashed */
};

struct masker_values *masker_values_new(void)
{
    struct masker_values *values = calloc(1, sizeof(*values));

    if (values)
        memset(values->buckets, 0xff, sizeof(values->buckets));
    return values;
}

void masker_values_free(struct masker_values *values)
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

static unsigned beginning_of(const char *text, size_t len)
{
    uint32_t head = (uint32_t)len;

    for (size_t i = 0; i < len; i++)
        head = head << 8 | (unsigned char)text[i];
    return head * 2654435761u >> 20;
}

/* May a form begin with these bytes, fewer than FORM_MIN? */
static bool may_begin(const struct masker_values *values, const char *text, size_t len)
{
    unsigned bit = beginning_of(text, len);

    return values->beginnings[bit / 8] >> bit % 8 & 1;
}

static int add_form_as(struct masker_values *values, const char *text, size_t len, bool may_wrap,
                       struct error *err)
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
            return error_memory(err);
        values->forms = grown;
        values->size = size;
    }
    form = &values->forms[values->count];
    form->text = malloc(len);
    if (!form->text)
        return error_memory(err);
    memcpy(form->text, text, len);
    form->len = len;
    form->may_wrap = may_wrap;
    form->next = values->buckets[bucket];
    values->buckets[bucket] = values->count++;
    for (size_t n = 1; n < FORM_MIN; n++)
        values->beginnings[beginning_of(text, n) / 8] |= (uint8_t)(1u << beginning_of(text, n) % 8);
    if (may_wrap)
        len += 2 * (len / WRAP_MIN + 1);
    if (len > values->longest)
        values->longest = len;
    return 0;
}

static int add_form(struct masker_values *values, const char *text, size_t len, struct error *err)
{
    return add_form_as(values, text, len, false, err);
}

/* ---- encodings ---- */

/* In base64 a value looks different depending on how many bytes stand before it, modulo three. The
 * characters at both ends that its neighbours share are left out. */
static int add_base64(struct masker_values *values, const char *value, size_t len,
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
        if (n >= 6 && add_form_as(values, text, n, true, err) < 0)
            return -1;
    }
    return 0;
}

static int add_hex(struct masker_values *values, const char *value, size_t len, const char *digits,
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
static int add_percent(struct masker_values *values, const char *value, size_t len,
                       const char *digits, const char *safe, bool is_form, struct error *err)
{
    char text[VALUE_MAX * 3];
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)value[i];

        if (c && (masker_is_alnum(c) || strchr(safe, c))) {
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

static size_t add_unit(char *text, uint32_t unit, bool is_upper)
{
    const char *digits = is_upper ? "0123456789ABCDEF" : "0123456789abcdef";

    text[0] = '\\';
    text[1] = 'u';
    for (unsigned i = 0; i < 4; i++)
        text[2 + i] = digits[unit >> (12 - 4 * i) & 15];
    return 6;
}

/* A character as \uXXXX; those beyond 16 bits need two. */
static size_t add_unicode(char *text, uint32_t c, bool is_upper)
{
    if (c < 0x10000)
        return add_unit(text, c, is_upper);
    (void)add_unit(text, 0xd800 + ((c - 0x10000) >> 10), is_upper);
    return 6 + add_unit(text + 6, 0xdc00 + ((c - 0x10000) & 0x3ff), is_upper);
}

enum { JSON_PLAIN = 0, JSON_SLASH = 1, JSON_ASCII = 2, JSON_UPPER = 4, JSON_FORMS = 8 };

/* Escaped as in a string of JSON; a / as \/, too, and characters beyond ASCII, where `form` says
 * so. */
static int add_json(struct masker_values *values, const char *value, size_t len, unsigned form,
                    unsigned depth, struct error *err)
{
    static const char from[] = "\"\\\n\r\t\b\f", to[] = "\"\\nrtbf";
    cleanup_free char *text = malloc(len * 6 + 1);
    size_t n = 0, size;

    if (!text)
        return error_memory(err);
    for (size_t i = 0; i < len; i += size) {
        const char *at = value[i] ? strchr(from, value[i]) : NULL;
        uint32_t c = 0;

        size = 1;
        if (at || (form & JSON_SLASH && value[i] == '/')) {
            text[n++] = '\\';
            text[n++] = (char)(at ? to[at - from] : '/');
        } else if ((unsigned char)value[i] < 0x20) {
            n += add_unicode(text + n, (unsigned char)value[i], form & JSON_UPPER);
        } else if (form & JSON_ASCII && (unsigned char)value[i] >= 0x80 &&
                   utf8_decode(value + i, len - i, &c) > 1) {
            size = (size_t)utf8_decode(value + i, len - i, &c);
            n += add_unicode(text + n, c, form & JSON_UPPER);
        } else {
            text[n++] = value[i];
        }
    }
    if (add_form(values, text, n, err) < 0)
        return -1;
    if (depth == 0 || n == len || n > VALUE_MAX)
        return 0;
    return add_json(values, text, n, JSON_PLAIN, depth - 1, err); /* JSON in JSON */
}

/* Clients and the network gate fold the names of hosts to lower case: a value that can stand in one
 * is looked for in that form, too. */
static int add_host_form(struct masker_values *values, const char *value, size_t len,
                         struct error *err)
{
    char text[VALUE_MAX];
    int r;

    for (size_t i = 0; i < len; i++) {
        char c = value[i];
        bool is_upper = c >= 'A' && c <= 'Z';

        if (!is_upper && !(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-' &&
            c != '_' && c != '.')
            return 0;
        text[i] = (char)(is_upper ? c + ('a' - 'A') : c);
    }
    r = add_form(values, text, len, err);
    explicit_bzero(text, len);
    return r;
}

int masker_values_add(struct masker_values *values, const char *value, size_t len,
                      struct error *err)
{
    static const char standard[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static const char for_urls[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    static const char lower[] = "0123456789abcdef", upper[] = "0123456789ABCDEF";

    if (len < MASKER_VALUE_MIN || len > VALUE_MAX)
        return error_set(err, E_INVALID, "a secret to look for has %zu to %zu bytes",
                         MASKER_VALUE_MIN, VALUE_MAX);
    if (add_form(values, value, len, err) < 0 || add_host_form(values, value, len, err) < 0 ||
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
    for (unsigned form = 0; form < JSON_FORMS; form++)
        if (add_json(values, value, len, form, 1, err) < 0)
            return -1;
    return 0;
}

/* ---- looking for them ---- */

/* The end of a line in the midst of the form: how long it is. The first bytes stand together, so
 * that not every line that ends with a letter of them has to wait. */
static size_t break_at(const struct form *form, size_t done, const char *text, size_t len)
{
    if (!form->may_wrap || done < FORM_MIN || !len)
        return 0;
    if (text[0] == '\r' && len > 1 && text[1] == '\n')
        return 2;
    return text[0] == '\n' || (text[0] == '\r' && len == 1);
}

/* The number of bytes that the form takes in the text; 0: it is not here. *ret_is_begun: the text
 * ends before the form does. */
static size_t match(const struct masker *s, const struct form *form, const char *text, size_t len,
                    bool *ret_is_begun)
{
    size_t at = 0, done = 0, since = WRAP_MIN;

    *ret_is_begun = false;
    while (done < form->len && at < len) {
        size_t skip = since >= WRAP_MIN ? break_at(form, done, text + at, len - at) : 0;

        if (skip) {
            at += skip;
            since = 0;
        } else if (text[at] == form->text[done]) {
            at++;
            done++;
            since++;
        } else {
            masker_charge(s, at + 1);
            return 0;
        }
    }
    masker_charge(s, at + 1);
    *ret_is_begun = done < form->len;
    return *ret_is_begun ? 0 : at;
}

static size_t longest_at(const struct masker *s, const char *text, size_t len)
{
    const struct masker_values *values = s->options.values;
    size_t best = 0;

    for (uint32_t i = values->buckets[bucket_of(text)]; i != NO_FORM; i = values->forms[i].next) {
        bool may_go_on;
        size_t n = match(s, &values->forms[i], text, len, &may_go_on);

        if (n > best)
            best = n;
    }
    return best;
}

/* The text may be the beginning of a value. */
static bool is_begun(const struct masker *s, const char *text, size_t len)
{
    const struct masker_values *values = s->options.values;

    if (len < FORM_MIN)
        return may_begin(values, text, len);
    for (uint32_t i = values->buckets[bucket_of(text)]; i != NO_FORM; i = values->forms[i].next) {
        bool may_go_on;

        (void)match(s, &values->forms[i], text, len, &may_go_on);
        if (may_go_on)
            return true;
    }
    return false;
}

void masker_values_scan(struct masker *s)
{
    const struct masker_values *values = s->options.values;
    /* Secrets that begin after a private key, or after too much work, are left for the next
     * pass. */
    size_t at = s->emitted, len = s->view.len, last = s->hold < len ? s->hold : len;

    if (!values->count)
        return;
    masker_charge(s, last - at);
    for (; at < last && at + FORM_MIN <= len && s->over == SIZE_MAX; at++) {
        size_t taken;

        if (values->buckets[bucket_of(masker_view(s, at))] == NO_FORM)
            continue;
        taken = longest_at(s, masker_view(s, at), len - at);
        if (taken) /* another one may begin inside */
            masker_found(s, MASKER_KIND_VALUE, at, at, at + taken);
        masker_check_work(s, at);
    }
    if (s->is_final)
        return;
    at = len > values->longest ? len - values->longest : 0;
    at = at > s->emitted ? at : s->emitted;
    masker_charge(s, at < last ? last - at : 0);
    for (; at < last && s->over == SIZE_MAX; at++) {
        const char *text = masker_view(s, at);

        if (len - at >= FORM_MIN && values->buckets[bucket_of(text)] == NO_FORM)
            continue;
        if (is_begun(s, text, len - at)) {
            masker_wait(s, MASKER_KIND_VALUE, at, at);
            return;
        }
        masker_check_work(s, at);
    }
}
