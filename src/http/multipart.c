#include "http/multipart.h"

#include <string.h>
#include <strings.h>

#include "base/fiber.h"
#include "base/span.h"
#include "base/utf8.h"

/* Header lines of one part, and the length of one. */
#define LINES_MAX  8
#define LINE_BYTES 1024

/* Searched between two looks at the clock, in a fiber. */
#define PAUSE_BYTES ((size_t)256 << 10)

/* RFC 2046. */
#define BOUNDARY_MAX 70

static int bad(struct error *err, const char *what)
{
    return error_set(err, E_INVALID, "the form: %s", what);
}

static struct span skip(struct span s, size_t n)
{
    return (struct span){s.data + n, s.len - n};
}

static struct span skip_blanks(struct span s)
{
    while (s.len && (*s.data == ' ' || *s.data == '\t'))
        s = skip(s, 1);
    return s;
}

static struct span trim(struct span s)
{
    s = skip_blanks(s);
    while (s.len && (s.data[s.len - 1] == ' ' || s.data[s.len - 1] == '\t'))
        s.len--;
    return s;
}

static bool is_token_char(char c)
{
    return c && strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`"
                       "|~",
                       c);
}

static struct span take_token(struct span *s)
{
    struct span token = {s->data, 0};

    while (token.len < s->len && is_token_char(s->data[token.len]))
        token.len++;
    *s = skip(*s, token.len);
    return token;
}

/* --- parameters: `; name="value"` --- */

struct parameter {
    struct span name, value;
    bool is_quoted;
};

static bool take_quoted(struct span *s, struct span *ret_value)
{
    const char *end = memchr(s->data, '"', s->len);

    if (!end)
        return false;
    *ret_value = (struct span){s->data, (size_t)(end - s->data)};
    *s = skip(*s, ret_value->len + 1);
    /* A backslash escapes for some senders and is a character for others. */
    return !memchr(ret_value->data, '\\', ret_value->len);
}

/* 1: one was taken; 0: there is none left; -1: it is none. */
static int take_parameter(struct span *s, struct parameter *ret)
{
    *s = skip_blanks(*s);
    if (!s->len)
        return 0;
    if (*s->data != ';')
        return -1;
    *s = skip_blanks(skip(*s, 1));
    ret->name = take_token(s);
    if (!ret->name.len || !s->len || *s->data != '=')
        return -1;
    *s = skip(*s, 1);
    ret->is_quoted = s->len && *s->data == '"';
    if (ret->is_quoted) {
        *s = skip(*s, 1);
        return take_quoted(s, &ret->value) ? 1 : -1;
    }
    ret->value = take_token(s);
    return ret->value.len ? 1 : -1;
}

/* --- the request's Content-Type --- */

bool multipart_is_type(struct span value)
{
    static const char type[] = "multipart/form-data";
    size_t n = sizeof(type) - 1;

    return value.data && value.len >= n && strncasecmp(value.data, type, n) == 0 &&
           (value.len == n || strchr("; \t", value.data[n]));
}

static bool is_boundary(struct span s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!is_token_char(s.data[i]) && (!s.data[i] || !strchr("'()+_,-./:=?", s.data[i])))
            return false;
    return s.len > 0 && s.len <= BOUNDARY_MAX;
}

int multipart_boundary(struct span value, struct span *ret_boundary, struct error *err)
{
    struct span left = skip(value, strlen("multipart/form-data"));
    struct span boundary = {NULL, 0};
    struct parameter p;
    int r;

    while ((r = take_parameter(&left, &p)) > 0) {
        if (!span_is_nocase(p.name, "boundary"))
            continue;
        if (boundary.data)
            return bad(err, "it has two boundaries");
        boundary = p.value;
    }
    if (r < 0 || !boundary.data || !is_boundary(boundary))
        return bad(err, "the Content-Type has no readable boundary");
    *ret_boundary = boundary;
    return 0;
}

/* --- the head of a part --- */

static bool is_text(struct span s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.data[i] < 0x20 || s.data[i] == 0x7f)
            return false;
    return utf8_valid(s.data, s.len) == s.len;
}

static int read_disposition(struct span value, struct multipart_part *part, struct error *err)
{
    struct parameter p;
    int r;

    if (part->name.data)
        return bad(err, "a part has two Content-Dispositions");
    if (!span_is_nocase(take_token(&value), "form-data"))
        return bad(err, "a part is not form-data");
    while ((r = take_parameter(&value, &p)) > 0) {
        struct span *place = span_is_nocase(p.name, "name")       ? &part->name
                             : span_is_nocase(p.name, "filename") ? &part->filename
                                                                  : NULL;

        if (!place)
            return bad(err, "a Content-Disposition says more than `name` and `filename`");
        if (place->data || !p.is_quoted)
            return bad(err, "a name is given twice, or without quotes");
        *place = p.value;
    }
    if (r < 0)
        return bad(err, "a Content-Disposition cannot be read");
    return part->name.len ? 0 : bad(err, "a part has no name");
}

static int read_line(struct span line, struct multipart_part *part, struct error *err)
{
    struct span name = take_token(&line), value;

    if (!name.len || !line.len || *line.data != ':')
        return bad(err, "invalid header line of a part");
    value = trim(skip(line, 1));
    if (!is_text(value))
        return bad(err, "the head of a part has bytes that are not text");
    if (span_is_nocase(name, "content-disposition"))
        return read_disposition(value, part, err);
    if (span_is_nocase(name, "content-transfer-encoding"))
        return bad(err, "a part has a transfer encoding, which forms no longer allow");
    if (span_is_nocase(name, "content-type")) {
        if (part->type.data)
            return bad(err, "a part has two Content-Types");
        part->type = value;
    }
    return 0;
}

/* Up to and with the empty line. */
static int read_head(struct span *left, struct multipart_part *part, struct error *err)
{
    for (size_t lines = 0; lines <= LINES_MAX; lines++) {
        const char *end = memmem(left->data, left->len, "\r\n", 2);
        struct span line;

        if (!end || end - left->data > LINE_BYTES)
            return bad(err, "a line of a part's head has no end");
        line = (struct span){left->data, (size_t)(end - left->data)};
        *left = skip(*left, line.len + 2);
        if (!line.len)
            return part->name.data ? 0 : bad(err, "a part has no Content-Disposition");
        if (read_line(line, part, err) < 0)
            return -1;
    }
    return bad(err, "the head of a part has too many lines");
}

/* --- the body --- */

/* Piece by piece, with a pause between them; NULL also where nobody wants it any more. */
static const char *find(struct span text, const char *mark, size_t len)
{
    const char *end = NULL;

    while (!end && text.len >= len && !fiber_is_cancelled()) {
        size_t n = text.len < PAUSE_BYTES ? text.len : PAUSE_BYTES;

        end = memmem(text.data, n, mark, len);
        if (n == text.len)
            break;
        text = skip(text, n - (len - 1)); /* it may begin at the end of a piece */
        fiber_pause();
    }
    return end;
}

/* The next "\r\n--boundary"; the bytes in front of it are the content. */
static int take_content(struct span *left, struct span boundary, struct span *ret_content,
                        struct error *err)
{
    char mark[BOUNDARY_MAX + 4];
    const char *end;

    (void)mempcpy(mempcpy(mark, "\r\n--", 4), boundary.data, boundary.len);
    end = find(*left, mark, boundary.len + 4);
    if (!end)
        return bad(err, "a part has no end");
    *ret_content = (struct span){left->data, (size_t)(end - left->data)};
    *left = skip(*left, ret_content->len + boundary.len + 4);
    return 0;
}

int multipart_parse(struct span body, struct span boundary, struct multipart *ret_parts,
                    struct error *err)
{
    struct span left = body;

    ret_parts->count = 0;
    if (!is_boundary(boundary))
        return bad(err, "its boundary is invalid");
    if (!span_starts_with(left, "--") || left.len < 2 + boundary.len ||
        memcmp(left.data + 2, boundary.data, boundary.len) != 0)
        return bad(err, "it does not begin with its boundary");
    left = skip(left, 2 + boundary.len);
    while (span_starts_with(left, "\r\n")) {
        struct multipart_part part = {0};

        left = skip(left, 2);
        if (ret_parts->count == MULTIPART_PARTS_MAX)
            return bad(err, "it has too many parts");
        if (read_head(&left, &part, err) < 0)
            return -1;
        if (take_content(&left, boundary, &part.content, err) < 0)
            return -1;
        ret_parts->parts[ret_parts->count++] = part;
    }
    if (!span_starts_with(left, "--") ||
        (left.len != 2 && !(left.len == 4 && left.data[2] == '\r' && left.data[3] == '\n')))
        return bad(err, "unexpected text after a boundary");
    return 0;
}
