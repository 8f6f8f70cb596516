#include "store/front_matter.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "base/utf8.h"

/* Nobody writes a longer one, and a model would have to read it. */
#define HEAD_MAX (16 * KIB)

struct reader {
    struct span rest; /* of the head */
    unsigned line;    /* of the one that was read last, from 1 */
};

static int wrong(const struct reader *r, const char *why, struct error *err)
{
    return error_set(err, E_INVALID, "line %u: %s", r->line, why);
}

/* --- lines --- */

static struct span trim_end(struct span text)
{
    while (text.len && strchr(" \t\r", text.data[text.len - 1]))
        text.len--;
    return text;
}

static struct span trim(struct span text)
{
    text = trim_end(text);
    while (text.len && (*text.data == ' ' || *text.data == '\t')) {
        text.data++;
        text.len--;
    }
    return text;
}

static struct span peek_line(const struct reader *r)
{
    const char *end = memchr(r->rest.data, '\n', r->rest.len);

    return trim_end((struct span){r->rest.data, end ? (size_t)(end - r->rest.data) : r->rest.len});
}

static struct span next_line(struct reader *r)
{
    struct span line = peek_line(r);
    const char *end = memchr(r->rest.data, '\n', r->rest.len);
    size_t taken = end ? (size_t)(end - r->rest.data) + 1 : r->rest.len;

    r->rest = (struct span){r->rest.data + taken, r->rest.len - taken};
    r->line++;
    return line;
}

static bool is_indented(struct span line)
{
    return line.len && (*line.data == ' ' || *line.data == '\t');
}

static size_t indent_of(struct span line)
{
    size_t n = 0;

    while (n < line.len && line.data[n] == ' ')
        n++;
    return n;
}

static bool is_mark(struct span line)
{
    return line.len == 3 && memcmp(line.data, "---", 3) == 0;
}

/* --- values --- */

/* "it''s" */
static int read_single(const struct reader *r, struct span text, struct buf *out, struct error *err)
{
    for (size_t i = 1; i < text.len; i++) {
        if (text.data[i] != '\'') {
            if (buf_add(out, text.data + i, 1, err) < 0)
                return -1;
        } else if (i + 1 < text.len && text.data[i + 1] == '\'') {
            i++;
            if (buf_add(out, "'", 1, err) < 0)
                return -1;
        } else {
            struct span after = trim((struct span){text.data + i + 1, text.len - i - 1});

            return after.len && *after.data != '#' ? wrong(r, "text after the quote", err) : 0;
        }
    }
    return wrong(r, "the quote is not closed in its line", err);
}

static int read_double(const struct reader *r, struct span text, struct buf *out, struct error *err)
{
    static const char letters[] = "\"\\/nt", meant[] = "\"\\/\n\t";

    for (size_t i = 1; i < text.len; i++) {
        const char *letter = &text.data[i];

        if (*letter == '"') {
            struct span after = trim((struct span){text.data + i + 1, text.len - i - 1});

            return after.len && *after.data != '#' ? wrong(r, "text after the quote", err) : 0;
        }
        if (*letter == '\\') {
            const char *known =
                ++i < text.len && text.data[i] ? strchr(letters, text.data[i]) : NULL;

            if (!known)
                return wrong(r, "an escape other than \\\" \\\\ \\/ \\n \\t", err);
            letter = &meant[known - letters];
        }
        if (buf_add(out, letter, 1, err) < 0)
            return -1;
    }
    return wrong(r, "the quote is not closed in its line", err);
}

/* Lines that are indented more than their key, the first of which says how far. */
static int read_block(struct reader *r, bool folds, struct buf *out, struct error *err)
{
    size_t indent = 0;

    while (r->rest.len) {
        struct span line = peek_line(r);

        if (line.len && !is_indented(line))
            break;
        (void)next_line(r);
        if (line.len && *line.data == '\t')
            return wrong(r, "a tab in the indentation", err);
        if (!indent)
            indent = indent_of(line);
        if (line.len && indent_of(line) < indent)
            return wrong(r, "indented less than the first line of its block", err);
        if (out->len && buf_add(out, folds && line.len ? " " : "\n", 1, err) < 0)
            return -1;
        if (line.len && buf_add(out, line.data + indent, line.len - indent, err) < 0)
            return -1;
    }
    while (out->len && strchr(" \n", out->data[out->len - 1]))
        out->data[--out->len] = '\0';
    return 0;
}

/* The rest of the line up to a comment, and the indented lines that follow. */
static int read_plain(struct reader *r, struct span text, struct buf *out, struct error *err)
{
    for (;;) {
        const char *comment = memmem(text.data, text.len, " #", 2);
        struct span line;

        if (comment)
            text.len = (size_t)(comment - text.data);
        text = trim(text);
        if (text.len && ((out->len && buf_add(out, " ", 1, err) < 0) ||
                         buf_add(out, text.data, text.len, err) < 0))
            return -1;
        line = peek_line(r);
        if (!is_indented(line) || comment)
            return 0;
        text = next_line(r);
    }
}

static bool is_block_mark(struct span text)
{
    return (text.len == 1 || (text.len == 2 && strchr("-+", text.data[1]))) &&
           strchr("|>", *text.data);
}

static int read_value(struct reader *r, struct span text, struct buf *out, struct error *err)
{
    static const char marks[] = "&*!|>[]{}%@`,?";

    text = trim(text);
    if (!text.len || *text.data == '#')
        return wrong(r, "the value is empty", err);
    if (*text.data == '\'')
        return read_single(r, text, out, err);
    if (*text.data == '"')
        return read_double(r, text, out, err);
    if (is_block_mark(text))
        return read_block(r, *text.data == '>', out, err);
    if (memchr(marks, *text.data, sizeof(marks) - 1) ||
        (*text.data == '-' && (text.len == 1 || text.data[1] == ' ')))
        return wrong(r, "not a plain or quoted text", err);
    return read_plain(r, text, out, err);
}

static void skip_value(struct reader *r)
{
    for (;;) {
        struct span line = peek_line(r);

        /* A list may stand at the margin of its key. */
        if (!r->rest.len || (line.len && !is_indented(line) &&
                             !(line.len > 1 && line.data[0] == '-' && line.data[1] == ' ')))
            return;
        (void)next_line(r);
    }
}

/* --- what it has to be --- */

static int check_name(const char *name, struct error *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789-_";

    if (*name && strchr(letters, *name) && strspn(name, plain) == strlen(name) &&
        strlen(name) <= FRONT_MATTER_NAME_MAX)
        return 0;
    error_set(err, E_INVALID, "invalid skill name in `name`");
    return error_hint(err, "up to %d lower-case letters, digits and `-`, beginning with a letter",
                      FRONT_MATTER_NAME_MAX);
}

static int check_text(const char *text, struct error *err)
{
    size_t len = strlen(text);

    if (!len || len > FRONT_MATTER_DESCRIPTION_MAX)
        return error_set(err, E_INVALID, "`description` has %zu bytes; it may have 1 to %d", len,
                         FRONT_MATTER_DESCRIPTION_MAX);
    for (size_t i = 0; i < len; i++)
        if (((unsigned char)text[i] < ' ' && text[i] != '\n' && text[i] != '\t') || text[i] == 0x7f)
            return error_set(err, E_INVALID, "`description` has a control character");
    return 0;
}

/* --- all of it --- */

static int read_key(struct reader *r, struct span line, struct buf *name, struct buf *description,
                    struct error *err)
{
    const char *colon = memchr(line.data, ':', line.len);
    size_t len = colon ? (size_t)(colon - line.data) : 0, n = 0;
    struct span value = {line.data + len + 1, line.len - len - (colon ? 1 : 0)};
    struct buf *out = NULL;

    while (n < len && (isalnum((unsigned char)line.data[n]) || strchr("-_", line.data[n])))
        n++;
    if (!colon || !len || n < len || (value.len && *value.data != ' ' && *value.data != '\t'))
        return wrong(r, "not `key: value`", err);
    if (len == 4 && memcmp(line.data, "name", 4) == 0)
        out = name;
    else if (len == 11 && memcmp(line.data, "description", 11) == 0)
        out = description;
    if (!out) {
        skip_value(r);
        return 0;
    }
    if (out->len)
        return wrong(r, "a duplicate key", err);
    return read_value(r, value, out, err);
}

static int read_head(struct reader *r, struct buf *name, struct buf *description, struct error *err)
{
    if (!is_mark(next_line(r))) {
        error_set(err, E_INVALID, "it does not begin with a line of `---`");
        return error_hint(err, "put `name: …` and `description: …` between two such lines");
    }
    while (r->rest.len) {
        struct span line = next_line(r);

        if (is_mark(line))
            return 0;
        if (line.len && *line.data != '#' && read_key(r, line, name, description, err) < 0)
            return -1;
    }
    return error_set(err, E_INVALID, "its head does not end with a line of `---`");
}

int front_matter_read(struct span text, struct front_matter *ret_matter, struct error *err)
{
    struct reader r = {.rest = text};
    cleanup(buf_done) struct buf name, description;
    struct front_matter matter;

    buf_init(&name, HEAD_MAX);
    buf_init(&description, HEAD_MAX);
    if (!text.len)
        return error_set(err, E_INVALID, "it does not begin with a line of `---`");
    if (text.len >= 3 && memcmp(text.data, "\xef\xbb\xbf", 3) == 0)
        r.rest = (struct span){text.data + 3, text.len - 3};
    if (r.rest.len > HEAD_MAX)
        r.rest.len = HEAD_MAX;
    if (utf8_valid(text.data, text.len) != text.len || memchr(text.data, '\0', text.len))
        return error_set(err, E_INVALID, "it is not text in UTF-8");
    if (read_head(&r, &name, &description, err) < 0 || check_name(buf_str(&name), err) < 0 ||
        check_text(buf_str(&description), err) < 0)
        return -1;
    matter = (struct front_matter){strdup(buf_str(&name)), strdup(buf_str(&description))};
    if (!matter.name || !matter.description) {
        free(matter.name);
        free(matter.description);
        return error_memory(err);
    }
    *ret_matter = matter;
    return 0;
}
