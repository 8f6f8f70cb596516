#include "vm/events.h"

#include <string.h>

#include "base/cleanup.h"

#define NAME_WORD "event: "
#define DATA_WORD "data: "
#define ID_WORD   "id: "

/* Of a line that is not data. */
#define LINE_MAX_BYTES ((size_t)64)

#define DATA_MAX ((size_t)1 << 30) /* the limits of events are lower */

void events_init(struct events_reader *reader, size_t (*limit)(void *user, const char *name),
                 int (*on_event)(void *user, const char *name, const char *data, size_t len,
                                 struct error *err),
                 void *user)
{
    *reader = (struct events_reader){.limit = limit, .on_event = on_event, .user = user};
    buf_init(&reader->line, LINE_MAX_BYTES);
    buf_init(&reader->data, DATA_MAX);
}

void events_done(struct events_reader *reader)
{
    buf_done(&reader->line);
    buf_done(&reader->data);
}

void events_take_data(struct events_reader *reader, struct buf *out)
{
    buf_done(out);
    *out = reader->data;
    reader->data = (struct buf)BUF_OF(DATA_MAX);
}

static int malformed(const char *what, struct error *err)
{
    return error_set(err, E_PROTOCOL, "malformed stream of events: %s", what);
}

static bool begins_with(const struct buf *line, const char *word)
{
    return line->len >= strlen(word) && memcmp(buf_str(line), word, strlen(word)) == 0;
}

static int take_name(struct events_reader *r, struct error *err)
{
    const char *name = buf_str(&r->line) + strlen(NAME_WORD);
    size_t len = r->line.len - strlen(NAME_WORD);

    if (*r->name || !len || len > EVENTS_NAME_MAX ||
        strspn(name, "abcdefghijklmnopqrstuvwxyz_") != len)
        return malformed("bad name", err);
    memcpy(r->name, name, len);
    r->name[len] = '\0';
    return r->limit(r->user, r->name) ? 0 : malformed("unknown event", err);
}

static int take_id(struct events_reader *r, struct error *err)
{
    const char *id = buf_str(&r->line) + strlen(ID_WORD);

    if (r->has_id || *r->name || !*id || strspn(id, "0123456789") != r->line.len - strlen(ID_WORD))
        return malformed("bad id", err);
    r->has_id = true;
    return 0;
}

static int end_event(struct events_reader *r, struct error *err)
{
    int result;

    if (!*r->name && !r->has_id)
        return 0;
    if (!r->has_data)
        return malformed("an event without data", err);
    result = r->on_event(r->user, r->name, buf_str(&r->data), r->data.len, err);
    r->has_data = r->has_id = false;
    *r->name = '\0';
    buf_done(&r->data);
    buf_init(&r->data, DATA_MAX);
    return result;
}

/* A whole line that is not data. */
static int take_line(struct events_reader *r, struct error *err)
{
    if (memchr(buf_str(&r->line), '\0', r->line.len))
        return malformed("a NUL byte", err);
    if (!r->line.len)
        return end_event(r, err);
    if (*buf_str(&r->line) == ':')
        return *r->name || r->has_id ? malformed("a comment in an event", err) : 0;
    if (r->has_data)
        return malformed("a line after the data", err);
    if (begins_with(&r->line, NAME_WORD))
        return take_name(r, err);
    return begins_with(&r->line, ID_WORD) ? take_id(r, err) : malformed("unknown line", err);
}

static bool is_in_data(const struct events_reader *r)
{
    return *r->name && !r->has_data && begins_with(&r->line, DATA_WORD);
}

/* Data go to a buffer of their own as soon as the line is known to be data. */
static size_t part_of_line(const struct events_reader *r, size_t len)
{
    size_t word = strlen(DATA_WORD), more = r->line.len < word ? word - r->line.len : 0;

    return *r->name && !r->has_data && more && more < len ? more : len;
}

int events_feed(struct events_reader *r, const char *data, size_t len, struct error *err)
{
    while (len) {
        const char *newline = memchr(data, '\n', len);
        size_t piece = newline ? (size_t)(newline - data) : len;

        if (is_in_data(r)) {
            if (r->data.len + piece > r->limit(r->user, r->name))
                return error_set(err, E_TOO_LARGE, "a `%s` of the virtual machine is too long",
                                 r->name);
            if (buf_add(&r->data, data, piece, err) < 0)
                return -1;
        } else {
            piece = part_of_line(r, piece);
            if (piece > LINE_MAX_BYTES - r->line.len)
                return malformed("a line is too long", err);
            if (buf_add(&r->line, data, piece, err) < 0)
                return -1;
            newline = piece < len && data[piece] == '\n' ? data + piece : NULL;
        }
        data += piece;
        len -= piece;
        if (!newline)
            continue;
        data++;
        len--;
        if (is_in_data(r))
            r->has_data = true;
        else if (take_line(r, err) < 0)
            return -1;
        buf_clear(&r->line);
    }
    return 0;
}

bool events_is_whole(const struct events_reader *r)
{
    return !*r->name && !r->has_id && !r->line.len;
}
