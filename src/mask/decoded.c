/* Escaped characters: where they are, and a view in which they are themselves.
 *
 *   %2C %0a %2520         in URLs and forms, also escaped again; + is a blank behind one of them
 *   &quot; &#39; &amp;lt; in HTML and XML, also escaped again
 *   \u0022                in JSON, where it need not be
 *   \x22                  in strings of programs
 *
 * Letters and digits are never decoded, nor is anything else that nobody has to escape: %41 stays.
 * The bytes of the escape are kept as a gap that comes out in place of the character. */
#include "mask/internal.h"

/* The longest escape: &amp;amp;#x003c; */
#define ESCAPE_MAX ((size_t)20)

/* Times that something may be escaped again. */
#define AGAIN_MAX 2

struct escape {
    enum masker_read state; /* READ_MORE: the text ends before it does */
    size_t len;
    unsigned char c;
};

static int hex_value(unsigned char c)
{
    return masker_is_digit(c) ? c - '0' : masker_is_hex(c) ? (c | 32) - 'a' + 10 : -1;
}

/* A character that is written as an escape so that it is not taken for what it means. */
static bool is_escapable(unsigned value)
{
    return value == '\t' || value == '\n' || value == '\r' ||
           (value >= ' ' && value < 0x7f && !masker_is_alnum((unsigned char)value));
}

/* A character that no URL escapes. */
static bool is_unreserved(unsigned char c)
{
    return masker_is_in("-_.~", c);
}

static struct escape no_escape(void)
{
    return (struct escape){.state = READ_NONE};
}

static struct escape half_escape(size_t n)
{
    const struct escape half = {.state = READ_MORE};

    return n < ESCAPE_MAX ? half : no_escape();
}

static struct escape whole_escape(unsigned value, size_t len)
{
    return is_escapable(value)
               ? (struct escape){.state = READ_VALUE, .len = len, .c = (unsigned char)value}
               : no_escape();
}

/* %2C, %252C: behind the sign, "25" as often as something was escaped again. */
static struct escape read_url(const unsigned char *p, size_t n)
{
    size_t at = 1;

    for (unsigned again = 0; again <= AGAIN_MAX; again++, at += 2) {
        int high, low;

        if (at >= n)
            return half_escape(n);
        high = hex_value(p[at]);
        if (high < 0)
            break;
        if (at + 1 >= n)
            return half_escape(n);
        low = hex_value(p[at + 1]);
        if (low < 0)
            break;
        if (high * 16 + low != '%')
            return is_unreserved((unsigned char)(high * 16 + low))
                       ? no_escape() /* %2d is a format more often than a hyphen */
                       : whole_escape((unsigned)(high * 16 + low), at + 2);
    }
    return at > 1 ? whole_escape('%', 3) : no_escape();
}

/* &#39; and &#x27;, behind the sign #. */
static struct escape read_number(const unsigned char *p, size_t n, size_t at)
{
    unsigned value = 0, base = 10;
    size_t digits = 0;

    if (at < n && (p[at] | 32) == 'x') {
        base = 16;
        at++;
    }
    for (; at < n && digits < 5; at++, digits++) {
        int digit = hex_value(p[at]);

        if (p[at] == ';')
            return digits ? whole_escape(value, at + 1) : no_escape();
        if (digit < 0 || (unsigned)digit >= base)
            return no_escape();
        value = value * base + (unsigned)digit;
    }
    return at >= n ? half_escape(n) : no_escape();
}

static struct escape read_entity(const unsigned char *p, size_t n)
{
    static const struct {
        const char *text;
        unsigned char c;
    } names[] = {{"quot;", '"'}, {"apos;", '\''}, {"lt;", '<'}, {"gt;", '>'}, {"nbsp;", ' '}};
    size_t at = 1;

    for (unsigned again = 0; again <= AGAIN_MAX; again++, at += 4) {
        bool is_half = at >= n;

        if (at < n && p[at] == '#')
            return read_number(p, n, at + 1);
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
            size_t len = strlen(names[i].text), have = n - at < len ? n - at : len;

            if (at >= n || memcmp(p + at, names[i].text, have) != 0)
                continue;
            if (have == len)
                return whole_escape(names[i].c, at + len);
            is_half = true;
        }
        if (is_half || (n - at < 4 && memcmp(p + at, "amp;", n - at) == 0))
            return half_escape(n);
        if (memcmp(p + at, "amp;", 4) != 0)
            break;
    }
    return at > 1 ? whole_escape('&', 5) : no_escape();
}

static struct escape read_string(const unsigned char *p, size_t n)
{
    static const char unicode[] = "\\u00", byte[] = "\\x";
    size_t digits = n > 1 && p[1] == 'x' ? sizeof(byte) - 1 : sizeof(unicode) - 1;
    int high, low;

    if (memcmp(p, digits == 2 ? byte : unicode, n < digits ? n : digits) != 0)
        return no_escape();
    if (n < digits + 2)
        return half_escape(n);
    high = hex_value(p[digits]);
    low = hex_value(p[digits + 1]);
    return high < 0 || low < 0 ? no_escape()
                               : whole_escape((unsigned)(high * 16 + low), digits + 2);
}

static struct escape read_escape(const unsigned char *p, size_t n)
{
    switch (*p) {
    case '%':
        return read_url(p, n);
    case '&':
        return read_entity(p, n);
    case '\\':
        return read_string(p, n);
    default:
        return no_escape();
    }
}

/* ---- in a text ---- */

typedef unsigned char wide __attribute__((vector_size(16)));

static bool is_sign(unsigned char c)
{
    return c == '%' || c == '&' || c == '\\';
}

static wide signs_in(const char *text)
{
    wide c;

    memcpy(&c, text, sizeof(c));
    return (wide)((c == '%') | (c == '&') | (c == '\\'));
}

static bool has_any(wide c)
{
    uint64_t halves[2];

    memcpy(halves, &c, sizeof(halves));
    return halves[0] | halves[1];
}

/* The next place with such a byte among the 16 that follow. Most text has none for long. */
static size_t find_wide(const char *text, size_t from, size_t len)
{
    while (from < len && len - from >= 4 * sizeof(wide) &&
           !has_any(signs_in(text + from) | signs_in(text + from + sizeof(wide)) |
                    signs_in(text + from + 2 * sizeof(wide)) |
                    signs_in(text + from + 3 * sizeof(wide))))
        from += 4 * sizeof(wide);
    while (from < len && len - from >= sizeof(wide) && !has_any(signs_in(text + from)))
        from += sizeof(wide);
    return from;
}

/* The next byte with which an escape may begin. */
static size_t find_sign(const char *text, size_t from, size_t len)
{
    from = find_wide(text, from, len);
    while (from < len && !is_sign((unsigned char)text[from]))
        from++;
    return from < len ? from : len;
}

/* May an escape begin with the sign here, by the byte behind it? Most signs of source, of manuals
 * and of prose begin none. */
static bool may_begin_escape(const char *text, size_t at, size_t len)
{
    unsigned char next = at + 1 < len ? (unsigned char)text[at + 1] : 0;

    switch (text[at]) {
    case '%':
        return masker_is_hex(next);
    case '&':
        return next == '#' || next == 'q' || next == 'a' || next == 'l' || next == 'g' ||
               next == 'n';
    default:
        return next == 'u' || next == 'x';
    }
}

static bool is_escape_at(const char *text, size_t at, size_t len)
{
    return may_begin_escape(text, at, len) &&
           read_escape((const unsigned char *)text + at, len - at).state == READ_VALUE;
}

/* The first escape that begins in [from, to); SIZE_MAX: there is none. */
static size_t find_escape(const char *text, size_t from, size_t to, size_t len)
{
    for (size_t at = from; at < to; at++)
        if (is_sign((unsigned char)text[at]) && is_escape_at(text, at, len))
            return at;
    return SIZE_MAX;
}

size_t masker_find_escape(const struct buf *tail, const char *text, size_t len)
{
    size_t at = 0, found = SIZE_MAX;

    /* In text that is full of signs, the next one stands in the same few bytes: they are not looked
     * for one after the other. */
    while (found == SIZE_MAX && (at = find_wide(text, at, len)) < len) {
        size_t to = len - at < sizeof(wide) ? len : at + sizeof(wide);

        found = find_escape(text, at, to, len);
        at = to;
    }
    return found == SIZE_MAX ? found : found - masker_said_before(tail, text, len, found);
}

size_t masker_half_escape(const char *text, size_t len)
{
    for (size_t at = len > ESCAPE_MAX ? len - ESCAPE_MAX : 0; at < len; at++)
        if (masker_is_in("%&\\", (unsigned char)text[at]) &&
            read_escape((const unsigned char *)text + at, len - at).state == READ_MORE)
            return len - at;
    return 0;
}

/* ---- in the view ---- */

static int add_plain(struct masker *s, unsigned char c, struct error *err)
{
    if (masker_is_space(c) || masker_is_in("\"'<>", c))
        s->is_in_url = false;
    if (c != '+' || !s->is_in_url)
        return masker_view_add_text(s, &c, 1, err);
    return masker_view_add_escape(s, &c, 1, ' ', err);
}

/* Adds the bytes that wait, as far as it is known what they are. */
static int add_waiting(struct masker *s, bool is_end, struct error *err)
{
    while (s->n_raw) {
        struct escape escape = read_escape(s->raw, s->n_raw);
        size_t n = 1;

        if (escape.state == READ_MORE && !is_end)
            return 0;
        if (escape.state == READ_VALUE) {
            n = escape.len;
            s->is_in_url = s->is_in_url || s->raw[0] == '%';
            s->quiet = 0;
            if (masker_view_add_escape(s, s->raw, n, escape.c, err) < 0)
                return -1;
        } else {
            s->quiet++;
            if (add_plain(s, s->raw[0], err) < 0)
                return -1;
        }
        s->n_raw -= n;
        memmove(s->raw, s->raw + n, s->n_raw);
    }
    return 0;
}

int masker_view_add_decoded(struct masker *s, const unsigned char *data, size_t len,
                            struct error *err)
{
    while (len) {
        size_t n = 1;

        if (s->n_raw) {
            s->raw[s->n_raw++] = *data;
            if (add_waiting(s, false, err) < 0)
                return -1;
        } else if (masker_is_in("%&\\", *data)) {
            s->raw[s->n_raw++] = *data;
        } else if (s->is_in_url) {
            s->quiet++;
            if (add_plain(s, *data, err) < 0)
                return -1;
        } else {
            n = find_sign((const char *)data, 0, len);
            s->quiet += n;
            if (masker_view_add_text(s, data, n, err) < 0)
                return -1;
        }
        data += n;
        len -= n;
    }
    return 0;
}

int masker_view_finish_decoded(struct masker *s, struct error *err)
{
    int r = add_waiting(s, true, err);

    s->n_raw = 0;
    s->is_in_url = false;
    return r;
}
