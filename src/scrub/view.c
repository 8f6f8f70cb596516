/* The view: the text without terminal sequences, control and invisible characters, which are put
 * aside as gaps. */
#include <stdlib.h>

#include "scrub/scrub_internal.h"

/* A terminal sequence: ESC, then either [ with parameters and one final byte, or ( with one byte.
 * Other sequences lose their ESC alone: what a title or a link holds is text that could be a
 * secret. */
enum { ESC_NONE, ESC_BEGUN, ESC_CSI, ESC_CHARSET };

#define ESC_MAX 48 /* parameters beyond that are text */

static int add_gap(struct scrub *s, const unsigned char *data, size_t len, struct error *err)
{
    struct scrub_gap *last = s->n_gaps ? &s->gaps[s->n_gaps - 1] : NULL;

    if (s->gap_bytes.len + len > SCRUB_GAPS_MAX)
        return 0;
    if (!last || last->at != s->view.len || s->n_gaps == s->gaps_out) {
        if (!s->gaps || s->n_gaps == s->gaps_size) {
            size_t size = s->gaps_size ? 2 * s->gaps_size : 16;
            struct scrub_gap *grown = reallocarray(s->gaps, size, sizeof(*grown));

            if (!grown)
                return error_memory(err);
            s->gaps = grown;
            s->gaps_size = size;
        }
        last = &s->gaps[s->n_gaps++];
        *last = (struct scrub_gap){.at = s->view.len, .from = s->gap_bytes.len};
    }
    last->len += len;
    return buf_add(&s->gap_bytes, data, len, err);
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

/* How long a character is that could be invisible; 0: it cannot. */
static unsigned suspect_length(unsigned char c)
{
    if (c == 0xc2 || c == 0xcd)
        return 2;
    if (c == 0xf3)
        return 4;
    return c == 0xe1 || c == 0xe2 || c == 0xef ? 3 : 0;
}

static int flush_half(struct scrub *s, struct error *err)
{
    unsigned n = s->n_half;

    s->n_half = 0;
    return buf_add(&s->view, s->half, n, err);
}

/* One byte of a character that may be invisible. */
static int add_half(struct scrub *s, unsigned char c, struct error *err)
{
    s->half[s->n_half++] = c;
    if (s->n_half < suspect_length(s->half[0]))
        return 0;
    if (!is_invisible(s->half, s->n_half))
        return flush_half(s, err);
    unsigned n = s->n_half;

    s->n_half = 0;
    if (s->half[0] == 0xc2 && s->half[1] == 0x9b) { /* what ESC [ is in one character */
        s->escape = ESC_CSI;
        s->escape_len = 0;
    }
    return add_gap(s, s->half, n, err);
}

/* Returns 1 when the byte was part of a sequence. */
static int add_escape(struct scrub *s, unsigned char c, struct error *err)
{
    switch (s->escape) {
    case ESC_BEGUN:
        s->escape = c == '[' ? ESC_CSI : c == '(' || c == ')' ? ESC_CHARSET : ESC_NONE;
        s->escape_len = 0;
        if (s->escape == ESC_NONE)
            return 0;
        break;
    case ESC_CSI:
        if (++s->escape_len > ESC_MAX || c < 0x20 || c > 0x7e) {
            s->escape = ESC_NONE;
            return 0;
        }
        if (c >= 0x40)
            s->escape = ESC_NONE;
        break;
    default:
        s->escape = ESC_NONE;
        if (c < 0x20 || c > 0x7e)
            return 0;
        break;
    }
    return add_gap(s, &c, 1, err) < 0 ? -1 : 1;
}

static int add_byte(struct scrub *s, unsigned char c, struct error *err)
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

/* Is there a byte among these 16 that add_byte() has to look at? */
static bool has_odd(const unsigned char *data)
{
    uint64_t halves[2];
    wide c, odd;

    memcpy(&c, data, sizeof(c));
    odd = (wide)((c < 0x20) & (c != '\t') & (c != '\n') & (c != '\r'));
    odd |= (wide)((c == 0x7f) | (c == 0xc2) | (c == 0xcd) | (c == 0xe1) | (c == 0xe2) |
                  (c == 0xef) | (c == 0xf3));
    memcpy(halves, &odd, sizeof(halves));
    return (halves[0] | halves[1]) != 0;
}

static bool is_plain(unsigned char c)
{
    return (c >= 0x20 || c == '\t' || c == '\n' || c == '\r') && c != 0x7f && !suspect_length(c);
}

/* How many bytes from here on are plain. */
static size_t plain_length(const unsigned char *data, size_t len)
{
    size_t n = 0;

    while (len - n >= sizeof(wide) && !has_odd(data + n))
        n += sizeof(wide);
    while (n < len && is_plain(data[n]))
        n++;
    return n;
}

int scrub_view_add(struct scrub *s, const unsigned char *data, size_t len, struct error *err)
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

int scrub_view_finish(struct scrub *s, struct error *err)
{
    s->escape = ESC_NONE;
    return flush_half(s, err);
}

bool scrub_has_gap(const struct scrub *s, size_t at)
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
