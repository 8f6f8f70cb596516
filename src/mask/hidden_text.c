/* Further readings. What has come out is read once more where it holds text that is not as it
 * looks; other text is read once.
 *
 * Hidden text: a terminal shows nothing of a title or a link, so that a token with one inside is
 * whole on the screen: the masker looks at the text without them. But they are text to everybody
 * else, and may hold a secret, or be the middle of one: the second masker knows no strings.
 *
 * Escaped text: a%20table%0Aof%20passwords, &quot;names&quot;. A masker whose view has the
 * characters instead of their escapes reads it as it reads any other (decoded.c). */
#include "mask/internal.h"

/* So that the other masker, when it comes, knows what stood before. */
static int keep_tail(struct masker_reading *r, const char *text, size_t len, struct error *err)
{
    size_t room = MASKER_TAIL, n = len < room ? len : room;

    if (!n)
        return 0;
    /* Seldom, so that a stream of single bytes does not move it each time. */
    if (r->tail.len + n > r->tail.limit)
        buf_consume(&r->tail, r->tail.len + n - room);
    return buf_add(&r->tail, text + len - n, n, err);
}

/* It has read the tail, and given it out. */
static int begin(struct masker *s, struct masker_reading *r, struct error *err)
{
    struct masker *other = r->masker;
    int escape;

    if (!other) {
        other = r->masker = masker_new(&s->options);
        if (!other)
            return error_memory(err);
        other->is_literal = true;
        other->is_decoded = r == &s->decoded;
    }
    if (r->tail.len > MASKER_TAIL)
        buf_consume(&r->tail, r->tail.len - MASKER_TAIL);
    if (masker_view_add(other, (const unsigned char *)buf_str(&r->tail), r->tail.len, err) < 0)
        return -1;
    /* An apparent half character was not one, or it would not have come out. */
    escape = other->escape;
    if (masker_view_finish(other, err) < 0)
        return -1;
    other->escape = escape;
    other->emitted = other->rules_done = other->view.len;
    other->gaps_out = other->n_gaps;
    other->lines = r->lines ? r->lines : 1;
    other->quiet = 0;
    r->is_reading = true;
    return 0;
}

/* Reads the text once more; what stands before `from` is only told. */
static int read_again(struct masker *s, struct masker_reading *r, size_t from, bool is_end,
                      struct clean_text *text, struct error *err)
{
    const char *data = clean_data(*text);
    size_t len = clean_len(*text);
    struct clean_text rest;

    if (!r->is_reading && (keep_tail(r, data, from, err) < 0 || begin(s, r, err) < 0))
        return -1;
    if ((is_end ? masker_text(r->masker, data + from, len - from, &rest, err)
                : masker_feed(r->masker, data + from, len - from, &rest, err)) < 0)
        return -1;
    if (from) {
        buf_clear(&r->joined);
        if (buf_add(&r->joined, data, from, err) < 0 ||
            buf_add(&r->joined, clean_data(rest), clean_len(rest), err) < 0)
            return -1;
        rest = masker_clean(buf_str(&r->joined), r->joined.len);
    }
    *text = rest;
    return 0;
}

static void forget(struct masker_reading *r)
{
    buf_clear(&r->tail);
    r->lines = 0;
    r->is_reading = false;
}

static int read_literal(struct masker *s, bool is_end, struct clean_text *text, struct error *err)
{
    struct masker_reading *r = &s->literal;
    size_t plain = s->plain_out < s->out.len ? s->plain_out : s->out.len;
    int result = 0;

    if (s->has_strings)
        result = read_again(s, r, r->is_reading ? 0 : plain, is_end, text, err);
    else if (!is_end)
        result = keep_tail(r, clean_data(*text), clean_len(*text), err);
    if (!r->is_reading)
        r->lines = s->lines;
    s->plain_out = 0;
    return result;
}

/* Puts the beginning of an escape that waited before the text. */
static int join_half(struct masker *s, struct clean_text *text, struct error *err)
{
    if (!s->half_escape.len)
        return 0;
    buf_clear(&s->whole_escape);
    if (buf_add(&s->whole_escape, s->half_escape.data, s->half_escape.len, err) < 0 ||
        buf_add(&s->whole_escape, clean_data(*text), clean_len(*text), err) < 0)
        return -1;
    *text = masker_clean(buf_str(&s->whole_escape), s->whole_escape.len);
    buf_clear(&s->half_escape);
    return 0;
}

/* There is no escape yet; the beginning of one at the end waits for the rest, and so does a word
 * before it that it may say something about. Returns how much of the text does not wait. */
static size_t wait_for_escape(struct masker *s, const char *data, size_t len, struct error *err)
{
    size_t said = len - masker_half_escape(data, len);

    said -= masker_said_before(&s->decoded.tail, data, len, said);
    return buf_add(&s->half_escape, data + said, len - said, err) < 0 ? SIZE_MAX : said;
}

static int take_out(struct masker_reading *r, const char *data, size_t len, struct error *err)
{
    return keep_tail(r, data, len, err) < 0 ? -1 : buf_add(&r->joined, data, len, err);
}

/* The number of the line at the beginning of this text, which is the last that came out. */
static uint64_t line_before(const struct masker *s, const char *data, size_t len)
{
    const char *end = data + len;
    uint64_t lines = s->lines;

    if (!s->options.on_find)
        return lines;
    for (; (data = memchr(data, '\n', (size_t)(end - data))); data++)
        lines -= lines > 1;
    return lines;
}

/* The text up to the end of the line in which there has been no escape for so long that the reading
 * may end; `len`: there is none. */
static size_t find_quiet(const struct masker *reader, const char *data, size_t len)
{
    size_t from = reader->quiet < MASKER_QUIET ? MASKER_QUIET - reader->quiet : 0;
    const char *newline = from < len ? memchr(data + from, '\n', len - from) : NULL;

    return newline ? (size_t)(newline - data) + 1 : len;
}

/* Reads some of the text. Returns how much; SIZE_MAX: it failed. */
static size_t read_some(struct masker *s, const char *data, size_t len, struct error *err)
{
    struct masker_reading *r = &s->decoded;
    size_t n = find_quiet(r->masker, data, len);
    struct clean_text text;

    if (masker_feed(r->masker, data, n, &text, err) < 0 ||
        take_out(r, clean_data(text), clean_len(text), err) < 0)
        return SIZE_MAX;
    if (r->masker->quiet < MASKER_QUIET || data[n - 1] != '\n')
        return n;
    if (masker_finish(r->masker, &text, err) < 0 ||
        take_out(r, clean_data(text), clean_len(text), err) < 0)
        return SIZE_MAX;
    r->is_reading = false;
    return n;
}

/* Passes on what stands before the next escape. Returns how much; SIZE_MAX: it failed. */
static size_t skip_plain(struct masker *s, const char *data, size_t len, bool is_end,
                         struct error *err)
{
    struct masker_reading *r = &s->decoded;
    size_t from = masker_find_escape(&r->tail, data, len), said = len;

    if (from != SIZE_MAX)
        said = from;
    else if (!is_end)
        said = wait_for_escape(s, data, len, err);
    if (said == SIZE_MAX || take_out(r, data, said, err) < 0)
        return SIZE_MAX;
    if (from == SIZE_MAX)
        return len;
    r->lines = line_before(s, data + said, len - said);
    return begin(s, r, err) < 0 ? SIZE_MAX : said;
}

static int read_decoded(struct masker *s, bool is_end, struct clean_text *text, struct error *err)
{
    struct masker_reading *r = &s->decoded;
    struct clean_text rest;

    if (join_half(s, text, err) < 0)
        return -1;
    buf_clear(&r->joined);
    for (size_t at = 0, len = clean_len(*text), n; at < len; at += n) {
        const char *data = clean_data(*text) + at;

        n = r->is_reading ? read_some(s, data, len - at, err)
                          : skip_plain(s, data, len - at, is_end, err);
        if (n == SIZE_MAX)
            return -1;
    }
    if (is_end && r->is_reading &&
        (masker_finish(r->masker, &rest, err) < 0 ||
         take_out(r, clean_data(rest), clean_len(rest), err) < 0))
        return -1;
    *text = masker_clean(buf_str(&r->joined), r->joined.len);
    return 0;
}

int masker_read_again(struct masker *s, bool is_end, struct clean_text *ret_text, struct error *err)
{
    *ret_text = masker_clean(buf_str(&s->out), s->out.len);
    if (s->is_literal)
        return 0;
    if (read_literal(s, is_end, ret_text, err) < 0 ||
        (!masker_is_review(s) && read_decoded(s, is_end, ret_text, err) < 0))
        return -1;
    if (is_end) {
        forget(&s->literal);
        forget(&s->decoded);
        s->has_strings = false;
        buf_clear(&s->half_escape);
    }
    return 0;
}
