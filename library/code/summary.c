#include "library/code/summary.h"

#include <stdint.h>
#include <string.h>

struct literal {
    const char *text, *end;
};

static bool is_letter(char c)
{
    return (c | 32) >= 'a' && (c | 32) <= 'z';
}

/* Past prefix and quotes. Nothing in it is escaped, also not in a raw one, where a backslash may
 * hide a quote; and no other literal follows. */
static bool open_literal(const char *text, size_t len, struct literal *ret)
{
    const char *end = text + len, *found;
    size_t quotes;

    if (memchr(text, '\\', len))
        return false;
    while (text < end && is_letter(*text))
        text++;
    if (end - text < 2 || (*text != '"' && *text != '\''))
        return false;
    quotes = end - text >= 6 && text[1] == *text && text[2] == *text ? 3 : 1;
    ret->text = text + quotes;
    ret->end = end - quotes;
    for (found = ret->text; found < end && (found = memchr(found, *text, (size_t)(end - found)));
         found++)
        if (quotes == 1 || (end - found >= 3 && found[1] == *text && found[2] == *text))
            return found == ret->end;
    return false;
}

/* Characters whose treatment depends on more than ASCII's blank and line end. */
static bool is_plain(const struct literal *l)
{
    bool is_line_start = true;

    for (const char *p = l->text; p < l->end; p++) {
        unsigned char c = (unsigned char)*p;

        if ((c < ' ' && c != '\n') || c == 0x7f || (c >= 0x80 && is_line_start))
            return false;
        is_line_start = c == '\n' || (is_line_start && c == ' ');
    }
    return true;
}

static const char *line_end(const char *p, const char *end)
{
    const char *found = memchr(p, '\n', (size_t)(end - p));

    return found ? found : end;
}

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && *p == ' ')
        p++;
    return p;
}

/* The common indentation of all lines but the first. */
static size_t margin_of(const struct literal *l)
{
    size_t margin = SIZE_MAX;

    for (const char *p = line_end(l->text, l->end); p < l->end;) {
        const char *start = p + 1, *end = line_end(start, l->end);
        const char *content = skip_blanks(start, end);

        if (content < end && (size_t)(content - start) < margin)
            margin = (size_t)(content - start);
        p = end;
    }
    return margin == SIZE_MAX ? 0 : margin;
}

struct summary {
    char *text;
    size_t len, chars;
};

/* False: it is full. */
static bool put(struct summary *s, const char *p, const char *end)
{
    for (; p < end; p++) {
        bool is_first = ((unsigned char)*p & 0xc0) != 0x80;

        if (is_first && s->chars == SUMMARY_CHARS)
            return false;
        if (s->len == SUMMARY_BYTES)
            return false;
        s->chars += is_first;
        s->text[s->len++] = *p;
    }
    return true;
}

bool summary_make(const char *literal, size_t len, char ret_text[SUMMARY_BYTES], size_t *ret_len)
{
    static const char newline[] = "\n";
    struct summary s = {.text = ret_text};
    struct literal l;
    size_t margin, newlines = 0;
    bool is_open = true;

    if (!open_literal(literal, len, &l) || !is_plain(&l))
        return false;
    margin = margin_of(&l);
    for (const char *p = l.text; is_open && p <= l.end; newlines++) {
        const char *end = line_end(p, l.end), *from;

        if (p == l.text)
            from = skip_blanks(p, end);
        else
            from = (size_t)(end - p) > margin ? p + margin : end;
        if (from < end) {
            /* Empty lines count when something comes behind them, and something came before. */
            for (; is_open && s.len && newlines; newlines--)
                is_open = put(&s, newline, newline + 1);
            newlines = 0;
            is_open = is_open && put(&s, from, end);
        }
        p = end + 1;
    }
    *ret_len = s.len;
    return true;
}
