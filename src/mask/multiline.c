/* Values of several lines: strings with three quotes, strings that are closed in a later line, and
 * block scalars of YAML (name: |). Each line is judged by itself; behind one that is secret, all
 * that have no blank in them are. Lines with blanks are prose. */
#include "mask/internal.h"

/* A value that goes on for longer is read so far. */
#define BLOCK_MAX ((size_t)4096)

struct block {
    unsigned kind;
    size_t from; /* the anchor */
    enum masker_name what;
    bool is_secret; /* a line was */
};

static bool is_blank(unsigned char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static bool has_blank(const struct masker *s, size_t start, size_t end)
{
    for (size_t i = start; i < end; i++)
        if (is_blank(masker_at(s, i)))
            return true;
    return false;
}

static void judge_line(struct masker *s, struct block *block, size_t start, size_t end)
{
    struct masker_value value = {.is_quoted = true};

    while (start < end && is_blank(masker_at(s, start)))
        start++;
    while (end > start && is_blank(masker_at(s, end - 1)))
        end--;
    masker_charge(s, end - start);
    if (start == end || (has_blank(s, start, end) && block->what != NAME_PHRASE))
        return;
    value.start = start;
    value.end = end;
    if (!block->is_secret)
        block->is_secret = masker_is_secret_value(s, block->what, &value);
    if (block->is_secret)
        masker_found(s, block->kind, block->from, start, end);
}

/* The end of the line at `at`, which is s->block_to; SIZE_MAX: it is too long, or not there yet,
 * and the matcher waits.
 */
static size_t line_end(struct masker *s, const struct block *block, size_t at)
{
    size_t most = s->view.len - at < BLOCK_MAX ? s->view.len - at : BLOCK_MAX;
    const char *newline = memchr(masker_view(s, at), '\n', most);

    masker_charge(s, newline ? (size_t)(newline - s->view.data) - at : most);
    if (newline)
        return (size_t)(newline - s->view.data);
    s->block_to += most;
    if (most == BLOCK_MAX)
        return SIZE_MAX;
    if (!s->is_final) {
        masker_wait(s, block->kind, block->from, at);
        return SIZE_MAX;
    }
    return s->view.len;
}

/* Not in a value that is read from its beginning. */
static bool begins(struct masker *s, size_t from)
{
    uint64_t place = s->view_offset + from;

    if (place < s->block_to && place != s->block_from)
        return false;
    s->block_from = place;
    return true;
}

/* ---- strings ---- */

void masker_found_lines(struct masker *s, unsigned kind, size_t from, enum masker_name what,
                        size_t start, size_t end)
{
    struct block block = {.kind = kind, .from = from, .what = what};

    /* A second time, if one is secret: for those before it. */
    for (unsigned pass = 0; pass < 2 && (!pass || block.is_secret); pass++)
        for (size_t at = start; at < end;) {
            const char *newline = memchr(masker_view(s, at), '\n', end - at);
            size_t stop = newline ? (size_t)(newline - s->view.data) : end;

            judge_line(s, &block, at, stop);
            at = stop + 1;
        }
}

/* Is this line of three quotes in a row, and where? */
static size_t find_three(const struct masker *s, size_t at, size_t end, unsigned char quote)
{
    for (; at + 3 <= end; at++)
        if (masker_at(s, at) == quote && masker_at(s, at + 1) == quote &&
            masker_at(s, at + 2) == quote)
            return at;
    return SIZE_MAX;
}

void masker_read_triple(struct masker *s, unsigned kind, size_t from, enum masker_name what,
                        const struct masker_value *value)
{
    struct block block = {.kind = kind, .from = from, .what = what};
    size_t begin = value->run->end, at = begin;

    if (!begins(s, from))
        return;
    s->block_to = s->view_offset + begin;
    judge_line(s, &block, value->start, begin);
    while (at < s->view.len && at - begin < BLOCK_MAX) {
        size_t end, three;

        s->block_to = s->view_offset + ++at;
        end = line_end(s, &block, at);
        if (end == SIZE_MAX)
            return;
        three = find_three(s, at, end, (unsigned char)value->quote);
        judge_line(s, &block, at, three < end ? three : end);
        if (three < end)
            return;
        at = end;
    }
}

enum masker_read masker_find_closing(const struct masker *s, size_t at, unsigned char quote,
                                     size_t *ret_end)
{
    size_t begin = at, slashes = 0;
    bool has_text = false, had_blank = false;

    for (; at < s->view.len && at - begin < BLOCK_MAX; at++) {
        unsigned char c = masker_at(s, at);

        if (c == quote && slashes % 2 == 0) {
            *ret_end = at;
            masker_charge(s, at - begin);
            return READ_VALUE;
        }
        slashes = c == '\\' ? slashes + 1 : 0;
        if (c == '\n') {
            has_text = had_blank = false;
        } else if (is_blank(c)) {
            had_blank = has_text;
        } else if (had_blank) {
            masker_charge(s, at - begin);
            return READ_NONE; /* prose, or code */
        } else {
            has_text = true;
        }
    }
    masker_charge(s, at - begin);
    return at - begin < BLOCK_MAX && masker_is_open(s, at) ? READ_MORE : READ_NONE;
}

/* ---- YAML ---- */

enum masker_read masker_begins_block(const struct masker *s, size_t at, size_t *ret_lines)
{
    size_t begin = at;

    if (at >= s->view.len || !masker_at(s, at) || !strchr("|>", masker_at(s, at)))
        return READ_NONE;
    at++;
    while (at < s->view.len && at - begin < 3 &&
           (masker_is_digit(masker_at(s, at)) || strchr("+-", masker_at(s, at))))
        at++;
    while (at < s->view.len && at - begin < 16 && is_blank(masker_at(s, at)))
        at++;
    if (masker_is_open(s, at))
        return READ_MORE;
    if (at >= s->view.len || masker_at(s, at) != '\n')
        return READ_NONE;
    *ret_lines = at + 1;
    return READ_VALUE;
}

void masker_read_block(struct masker *s, unsigned kind, size_t from, enum masker_name what,
                       size_t at, size_t column)
{
    struct block block = {.kind = kind, .from = from, .what = what};
    size_t begin = at;

    if (!begins(s, from))
        return;
    while (at < s->view.len + 1 && at - begin < BLOCK_MAX) {
        size_t text = at, end;

        while (text < s->view.len && masker_at(s, text) == ' ' && text - at <= column)
            text++;
        s->block_to = s->view_offset + at;
        /* A line that is not indented ends it, and need not be whole. */
        if (text < s->view.len && text - at <= column && masker_at(s, text) != '\n' &&
            masker_at(s, text) != '\r')
            return;
        end = line_end(s, &block, at);
        if (end == SIZE_MAX)
            return;
        judge_line(s, &block, at, end);
        if (end >= s->view.len)
            return;
        at = end + 1;
    }
}
