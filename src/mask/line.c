/* Finds the string and the brackets that are open at some place of a line. They decide which bytes
 * can end an unquoted value there. */
#include "mask/internal.h"

/* A line that begins farther back is not read. The view always holds more than that. */
#define LINE_MAX_BACK ((size_t)256)

/* Most bytes of a line are of no class: this is asked for each of them. */
enum { PLAIN, OPENS, CLOSES, QUOTE, SLASH, NEWLINE };

static const unsigned char classes[256] = {
    ['('] = OPENS, ['['] = OPENS,  ['{'] = OPENS, [')'] = CLOSES, [']'] = CLOSES,   ['}'] = CLOSES,
    ['"'] = QUOTE, ['\''] = QUOTE, ['`'] = QUOTE, ['\\'] = SLASH, ['\n'] = NEWLINE,
};

/* A quote behind a letter opens nothing: it's, 5" - but for the prefixes of a language's strings.
 */
static bool opens_string(const struct masker *s, size_t at)
{
    size_t i = at;

    while (i && at - i < 2 && strchr("bBrRuUfF", masker_at(s, i - 1)))
        i--;
    if (i < at && i && masker_is_alnum(masker_at(s, i - 1)))
        i = at;
    return !i || i < at || !masker_is_alnum(masker_at(s, i - 1));
}

static void count_bracket(unsigned char class, unsigned *depth)
{
    if (class == OPENS)
        ++*depth;
    else if (class == CLOSES && *depth)
        --*depth;
}

static void step(const struct masker *s, size_t at, struct masker_line *line)
{
    unsigned char c = masker_at(s, at), class = classes[c];

    if (class == NEWLINE) {
        *line = (struct masker_line){.start = at + 1, .is_known = true};
    } else if (line->is_escape) {
        line->is_escape = false;
        line->has_escapes = line->has_escapes || (c && strchr("\"'nrt", c));
    } else if (class == SLASH) {
        line->is_escape = true;
    } else if (line->quote) {
        if (c == line->quote)
            line->quote = line->inner = 0;
        else
            count_bracket(class, &line->inner);
    } else if (class == QUOTE) {
        if (opens_string(s, at))
            line->quote = c;
    } else {
        count_bracket(class, &line->outer);
    }
}

/* The place before which nothing is known, or the line begins. */
static size_t find_start(const struct masker *s, size_t at, struct masker_line *line)
{
    size_t low = at > LINE_MAX_BACK ? at - LINE_MAX_BACK : 0;
    const char *newline = low < at ? memrchr(masker_view(s, low), '\n', at - low) : NULL;
    size_t start = newline ? (size_t)(newline - s->view.data) + 1 : low;

    *line = (struct masker_line){.start = start, .is_known = newline || !low};
    return start;
}

struct masker_line masker_line_at(const struct masker *s, size_t at)
{
    struct masker_line *line = &s->memory->line, found;
    size_t i = s->memory->line_to;

    /* Not through the lines between: only the last one counts. */
    if (!s->memory->has_line || at < i || at - i > LINE_MAX_BACK ||
        memrchr(masker_view(s, i), '\n', at - i))
        i = find_start(s, at, line);
    masker_charge(s, at - i + 1);
    for (; i < at; i++)
        if (line->is_escape || classes[masker_at(s, i)] != PLAIN)
            step(s, i, line);
    s->memory->line_to = at;
    s->memory->has_line = true;
    found = *line;
    found.is_known = line->is_known && at - line->start <= LINE_MAX_BACK;
    return found;
}
