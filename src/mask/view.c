/* The view: the text without terminal sequences, control and invisible characters, which are put
 * aside as gaps. A literal view keeps the text of sequences that hold one. */
#include <stdlib.h>

#include "mask/internal.h"

/* A terminal sequence: ESC and what follows it, to its end. The strings among them (titles, links,
 * what devices are told) may hold anything, secrets too: a second masker reads them (literal.c). */
enum { ESC_NONE, ESC_BEGUN, ESC_CSI, ESC_FUNCTION, ESC_STRING, ESC_STRING_END };

#define ESC_MAX    ((size_t)48)   /* parameters beyond that are text */
#define STRING_MAX ((size_t)4096) /* and so is the rest of a string that does not end */

#define FUNCTION_FINAL 0x30 /* ends a function; what ends CSI is 0x40 and more */

static int add_gap_as(struct masker *s, const unsigned char *data, size_t len, bool is_escape,
                      struct error *err)
{
    struct masker_gap *last = s->n_gaps ? &s->gaps[s->n_gaps - 1] : NULL;

    if (s->gap_bytes.len + len > MASKER_GAPS_MAX)
        return 0;
    if (!last || last->at != s->view.len || s->n_gaps == s->gaps_out || is_escape) {
        if (!s->gaps || s->n_gaps == s->gaps_size) {
            size_t size = s->gaps_size ? 2 * s->gaps_size : 16;
            struct masker_gap *grown = reallocarray(s->gaps, size, sizeof(*grown));

            if (!grown)
                return error_memory(err);
            s->gaps = grown;
            s->gaps_size = size;
        }
        last = &s->gaps[s->n_gaps++];
        *last = (struct masker_gap){
            .at = s->view.len, .from = s->gap_bytes.len, .is_escape = is_escape};
    }
    last->len += len;
    return buf_add(&s->gap_bytes, data, len, err);
}

static int add_gap(struct masker *s, const unsigned char *data, size_t len, struct error *err)
{
    return add_gap_as(s, data, len, false, err);
}

static bool is_invisible(const unsigned char *c, unsigned len)
{
    if (len == 2)
        return (c[0] == 0xc2 && (c[1] == 0xad || c[1] < 0xa0)) || (c[0] == 0xcd && c[1] == 0x8f);
    if (c[0] == 0xe2 && c[1] == 0x80) /* spaces of no width, joiners, marks of direction */
        return (c[2] >= 0x8b && c[2] <= 0x8f) || (c[2] >= 0xaa && c[2] <= 0xae);
    if (c[0] == 0xe2 && c[1] == 0x81)
        return c[2] >= 0xa0 && c[2] <= 0xaf;
    if (len == 4) /* tags and selectors of variants */
        return c[0] == 0xf3 && c[1] == 0xa0 && c[2] < 0x88;
    if (c[0] == 0xe1)
        return c[1] == 0xa0 && c[2] >= 0x8b && c[2] <= 0x8e;
    return c[0] == 0xef && ((c[1] == 0xbb && c[2] == 0xbf) || (c[1] == 0xb8 && c[2] < 0x90));
}

/* The length of a character that could be invisible; 0: it cannot be. */
static unsigned suspect_length(unsigned char c)
{
    if (c == 0xc2 || c == 0xcd)
        return 2;
    if (c == 0xf3)
        return 4;
    return c == 0xe1 || c == 0xe2 || c == 0xef ? 3 : 0;
}

static int flush_half(struct masker *s, struct error *err)
{
    unsigned n = s->n_half;

    s->n_half = 0;
    return buf_add(&s->view, s->half, n, err);
}

static void begin_escape(struct masker *s, int escape, unsigned char introducer)
{
    s->escape = escape;
    s->escape_len = 0;
    s->escape_last = 0;
    s->escape_is_title = introducer == ']';
}

/* Single characters that stand for ESC and a byte. */
static void begin_short(struct masker *s, unsigned char c)
{
    unsigned char introducer = (unsigned char)(c - 0x40);

    if (introducer == '[')
        begin_escape(s, ESC_CSI, introducer);
    else if (!s->is_literal && introducer && strchr("PX]^_", introducer)) {
        begin_escape(s, ESC_STRING, introducer);
        s->has_strings = true;
    }
}

/* One byte of a character that may be invisible. */
static int add_half(struct masker *s, unsigned char c, struct error *err)
{
    s->half[s->n_half++] = c;
    if (s->n_half < suspect_length(s->half[0]))
        return 0;
    if (!is_invisible(s->half, s->n_half))
        return flush_half(s, err);
    unsigned n = s->n_half;

    s->n_half = 0;
    if (s->half[0] == 0xc2)
        begin_short(s, s->half[1]);
    return add_gap(s, s->half, n, err);
}

/* The byte behind ESC. False: it is none of a sequence. */
static bool add_introducer(struct masker *s, unsigned char c)
{
    s->escape = ESC_NONE;
    if (c == '[') {
        begin_escape(s, ESC_CSI, c);
        return true;
    }
    if (c == '(' || c == ')') {
        begin_escape(s, ESC_FUNCTION, c);
        return true;
    }
    if (s->is_literal || c < 0x20 || c > 0x7e)
        return false;
    s->has_strings = true;
    if (strchr("PX]^_k", c))
        begin_escape(s, ESC_STRING, c);
    else if (c < 0x30)
        begin_escape(s, ESC_FUNCTION, c);
    return true;
}

/* Parameters, and the byte that ends them. */
static bool add_parameter(struct masker *s, unsigned char c, unsigned char final)
{
    if (++s->escape_len > ESC_MAX || c < 0x20 || c > 0x7e) {
        s->escape = ESC_NONE;
        return false;
    }
    if (c >= final)
        s->escape = ESC_NONE;
    else if (final == FUNCTION_FINAL)
        s->has_strings = true; /* the literal view ends it sooner */
    return true;
}

/* Ends with ST, in its long or short form, with what cancels, and titles with BEL. The newline of a
 * string that never ends must not be waited for: beyond its room it is text. */
static bool add_to_string(struct masker *s, unsigned char c)
{
    bool is_short_st = s->escape_last == 0xc2 && c == 0x9c;

    s->escape_last = c;
    if (++s->escape_len > STRING_MAX) {
        s->escape = ESC_NONE;
        return false;
    }
    if (c == 0x1b)
        s->escape = ESC_STRING_END;
    else if (is_short_st || c == 0x18 || c == 0x1a || (c == '\a' && s->escape_is_title))
        s->escape = ESC_NONE;
    return true;
}

/* Returns 1 when the byte was part of a sequence. */
static int add_escape(struct masker *s, unsigned char c, struct error *err)
{
    bool is_taken;

    switch (s->escape) {
    case ESC_BEGUN:
        is_taken = add_introducer(s, c);
        break;
    case ESC_CSI:
        is_taken = add_parameter(s, c, 0x40);
        break;
    case ESC_FUNCTION:
        is_taken = add_parameter(s, c, s->is_literal ? 0x20 : FUNCTION_FINAL);
        break;
    case ESC_STRING:
        is_taken = add_to_string(s, c);
        break;
    default: /* ESC ends a string whatever follows; \\ is a part of the end */
        s->escape = ESC_NONE;
        is_taken = c == '\\' || add_introducer(s, c);
        break;
    }
    if (!is_taken)
        return 0;
    return add_gap(s, &c, 1, err) < 0 ? -1 : 1;
}

static int add_byte(struct masker *s, unsigned char c, struct error *err)
{
    if (s->escape != ESC_NONE) {
        int r = add_escape(s, c, err);

        if (r)
            return r < 0 ? -1 : 0;
    }
    if (s->n_half) {
        if ((c & 0xc0) == 0x80)
            return add_half(s, c, err);
        if (flush_half(s, err) < 0)
            return -1;
    }
    if (suspect_length(c))
        return add_half(s, c, err);
    if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f) {
        s->escape = c == 0x1b ? ESC_BEGUN : ESC_NONE;
        return add_gap(s, &c, 1, err);
    }
    return buf_add(&s->view, &c, 1, err);
}

typedef unsigned char wide __attribute__((vector_size(16)));

/* Is there a byte that is not zero? */
static bool is_any(wide c)
{
    uint64_t halves[2];

    memcpy(halves, &c, sizeof(halves));
    return (halves[0] | halves[1]) != 0;
}

/* Are these 32 bytes all ASCII, without control characters? Most text is. */
static bool is_ascii(const unsigned char *data)
{
    wide a, b;

    memcpy(&a, data, sizeof(a));
    memcpy(&b, data + sizeof(a), sizeof(b));
    return !is_any((wide)((a - ' ' >= 0x7f - ' ') & (a != '\n')) |
                   (wide)((b - ' ' >= 0x7f - ' ') & (b != '\n')));
}

/* Finds tabs as well, which stand beside newlines among the control characters. */
static bool is_tabbed(const unsigned char *data)
{
    wide a, b;

    memcpy(&a, data, sizeof(a));
    memcpy(&b, data + sizeof(a), sizeof(b));
    return !is_any((wide)((a - ' ' >= 0x7f - ' ') & (a - '\t' >= 2)) |
                   (wide)((b - ' ' >= 0x7f - ' ') & (b - '\t' >= 2)));
}

/* Is there a byte among these 16 that add_byte() has to look at? */
static bool has_odd(const unsigned char *data)
{
    wide c, odd;

    memcpy(&c, data, sizeof(c));
    odd = (wide)((c < 0x20) & (c != '\t') & (c != '\n') & (c != '\r'));
    odd |= (wide)((c == 0x7f) | (c == 0xc2) | (c == 0xcd) | (c == 0xe1) | (c == 0xe2) |
                  (c == 0xef) | (c == 0xf3));
    return is_any(odd);
}

static bool is_plain(unsigned char c)
{
    return (c >= 0x20 || c == '\t' || c == '\n' || c == '\r') && c != 0x7f && !suspect_length(c);
}

/* The number of plain bytes from here on. */
static size_t plain_length(const unsigned char *data, size_t len)
{
    size_t n = 0;

    for (;;) {
        if (len - n >= 2 * sizeof(wide) && (is_ascii(data + n) || is_tabbed(data + n)))
            n += 2 * sizeof(wide);
        else if (len - n >= sizeof(wide) && !has_odd(data + n))
            n += sizeof(wide);
        else
            break;
    }
    while (n < len && is_plain(data[n]))
        n++;
    return n;
}

int masker_view_add_escape(struct masker *s, const unsigned char *data, size_t len, unsigned char c,
                           struct error *err)
{
    size_t kept = s->gap_bytes.len;

    /* A character with bytes missing, and a terminal sequence, end here. */
    if (flush_half(s, err) < 0)
        return -1;
    s->escape = ESC_NONE;
    if (add_gap_as(s, data, len, true, err) < 0)
        return -1;
    if (s->gap_bytes.len == kept) /* no room: it stays as it is */
        return buf_add(&s->view, data, len, err);
    return buf_add(&s->view, &c, 1, err);
}

int masker_view_add_text(struct masker *s, const unsigned char *data, size_t len, struct error *err)
{
    while (len) {
        size_t plain = s->escape == ESC_NONE && !s->n_half ? plain_length(data, len) : 0;

        if (plain && buf_add(&s->view, data, plain, err) < 0)
            return -1;
        data += plain;
        len -= plain;
        if (len) {
            if (add_byte(s, *data, err) < 0)
                return -1;
            data++;
            len--;
        }
    }
    return 0;
}

int masker_view_add(struct masker *s, const unsigned char *data, size_t len, struct error *err)
{
    return s->is_decoded ? masker_view_add_decoded(s, data, len, err)
                         : masker_view_add_text(s, data, len, err);
}

int masker_view_finish(struct masker *s, struct error *err)
{
    if (s->is_decoded && masker_view_finish_decoded(s, err) < 0)
        return -1;
    s->escape = ESC_NONE;
    return flush_half(s, err);
}

bool masker_has_gap(const struct masker *s, size_t at)
{
    size_t low = 0, high = s->n_gaps;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (s->gaps[middle].at < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->n_gaps && s->gaps[low].at == at;
}

/* Does a sequence that may hold text begin with this byte? */
static bool begins_string(const unsigned char *data, size_t len)
{
    if (len < 2)
        return false;
    if (data[0] == 0xc2)
        return data[1] >= 0x90 && data[1] <= 0x9f && strchr("PX]^_", data[1] - 0x40);
    if (data[1] == '(' || data[1] == ')')
        return len > 2 && data[2] >= 0x20 && data[2] < FUNCTION_FINAL;
    return data[1] != '[' && data[1] >= 0x20 && data[1] <= 0x7e;
}

size_t masker_plain_part(const unsigned char *data, size_t len)
{
    static const unsigned char signs[] = {0x1b, 0xc2};
    size_t part = len;

    for (size_t i = 0; i < sizeof(signs); i++)
        for (const unsigned char *at = data;
             (at = memchr(at, signs[i], part - (size_t)(at - data))); at++)
            if (begins_string(at, len - (size_t)(at - data))) {
                part = (size_t)(at - data);
                break;
            }
    return part;
}
