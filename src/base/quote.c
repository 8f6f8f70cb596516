#include "base/quote.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/utf8.h"

#define ESCAPE_MAX 12 /* \u{10ffff} with its NUL */

/* Other quotation marks and double primes, which a reader could take for the closing mark. */
static bool is_like_mark(uint32_t c)
{
    static const struct {
        uint32_t first, last;
    } marks[] = {
        {0x00ab, 0x00ab}, {0x00bb, 0x00bb}, {0x02ba, 0x02ba},   {0x02dd, 0x02dd}, {0x02ee, 0x02ee},
        {0x02f6, 0x02f6}, {0x030b, 0x030b}, {0x030e, 0x030e},   {0x05f2, 0x05f4}, {0x1cd3, 0x1cd3},
        {0x201c, 0x201f}, {0x2033, 0x2037}, {0x2057, 0x2057},   {0x275d, 0x2760}, {0x3003, 0x3003},
        {0x301d, 0x301f}, {0xff02, 0xff02}, {0x1f676, 0x1f678},
    };

    for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
        if (c >= marks[i].first && c <= marks[i].last)
            return true;
    return false;
}

/* The form of one character; false: it stays as it is. */
static bool escape(uint32_t c, bool is_quoted, char out[ESCAPE_MAX])
{
    if (c == '\n' || c == '\r' || c == '\t')
        (void)snprintf(out, ESCAPE_MAX, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
    else if (is_quoted && (c == '"' || c == '\\'))
        (void)snprintf(out, ESCAPE_MAX, "\\%c", (char)c);
    else if (!utf8_is_visible(c) || (is_quoted && is_like_mark(c)))
        (void)snprintf(out, ESCAPE_MAX, c < 0x100 ? "\\x%02x" : "\\u{%x}", (unsigned)c);
    else
        return false;
    return true;
}

static char *write_line(struct span text, size_t max, bool is_quoted)
{
    cleanup(buf_done) struct buf out = {0};
    size_t end = max + (is_quoted ? 1 : 0);

    buf_init(&out, max + sizeof("\"…\""));
    if (is_quoted && buf_add_str(&out, "\"", NULL) < 0)
        return NULL;
    for (size_t i = 0; i < text.len;) {
        uint32_t c = 0;
        int n = utf8_decode(text.data + i, text.len - i, &c);
        size_t used = n > 0 ? (size_t)n : 1;
        char form[ESCAPE_MAX];
        struct span piece = {text.data + i, used};

        if (n <= 0)
            (void)snprintf(form, sizeof(form), "\\x%02x", (unsigned char)text.data[i]);
        if (n <= 0 || escape(c, is_quoted, form))
            piece = (struct span){form, strlen(form)};
        if (out.len + piece.len > end) {
            if (buf_add_str(&out, "…", NULL) < 0)
                return NULL;
            break;
        }
        if (buf_add(&out, piece.data, piece.len, NULL) < 0)
            return NULL;
        i += used;
    }
    if (is_quoted && buf_add_str(&out, "\"", NULL) < 0)
        return NULL;
    return strdup(buf_str(&out));
}

char *quote_words(struct span text, size_t max)
{
    return write_line(text, max, true);
}

char *quote_line(struct span text, size_t max)
{
    return write_line(text, max, false);
}
