/* The second reading. A terminal shows nothing of a title or a link, so that a token with one
 * inside is whole on the screen: the masker looks at the text without them. But they are text to
 * everybody else, and may hold a secret, or be the middle of one: what has come out is then read
 * once more, by a masker that knows no strings. Text without such sequences is read once. */
#include "mask/internal.h"

/* So that the second masker, when it comes, knows what stood before. */
static int keep_tail(struct masker *s, size_t len, struct error *err)
{
    size_t room = MASKER_TAIL, n = len < room ? len : room;

    if (!n)
        return 0;
    /* Seldom, so that a stream of single bytes does not move it each time. */
    if (s->tail.len + n > s->tail.limit)
        buf_consume(&s->tail, s->tail.len + n - room);
    s->tail_lines = s->lines;
    return buf_add(&s->tail, s->out.data + len - n, n, err);
}

/* It has read the tail, and given it out. */
static int begin(struct masker *s, struct error *err)
{
    struct masker *literal = s->literal;
    int escape;

    if (!literal) {
        literal = s->literal = masker_new(&s->options);
        if (!literal)
            return error_memory(err);
        literal->is_literal = true;
    }
    if (s->tail.len > MASKER_TAIL)
        buf_consume(&s->tail, s->tail.len - MASKER_TAIL);
    if (masker_view_add(literal, (const unsigned char *)buf_str(&s->tail), s->tail.len, err) < 0)
        return -1;
    /* An apparent half character was not one, or it would not have come out. */
    escape = literal->escape;
    if (masker_view_finish(literal, err) < 0)
        return -1;
    literal->escape = escape;
    literal->emitted = literal->rules_done = literal->view.len;
    literal->gaps_out = literal->n_gaps;
    literal->lines = s->tail_lines ? s->tail_lines : 1;
    return 0;
}

/* Reads the output from `from` on once more. */
static int read_out(struct masker *s, size_t from, bool is_end, struct clean_text *ret_text,
                    struct error *err)
{
    const char *text = buf_str(&s->out) + from;
    int r = is_end ? masker_text(s->literal, text, s->out.len - from, ret_text, err)
                   : masker_feed(s->literal, text, s->out.len - from, ret_text, err);

    if (r < 0 || !from)
        return r;
    buf_clear(&s->joined);
    if (buf_add(&s->joined, s->out.data, from, err) < 0 ||
        buf_add(&s->joined, clean_data(*ret_text), clean_len(*ret_text), err) < 0)
        return -1;
    *ret_text = masker_clean(buf_str(&s->joined), s->joined.len);
    return 0;
}

/* From the first sequence on; what was before is only told. */
static int begin_reading(struct masker *s, bool is_end, struct clean_text *ret_text,
                         struct error *err)
{
    size_t plain = s->plain_out < s->out.len ? s->plain_out : s->out.len;

    if (keep_tail(s, plain, err) < 0 || begin(s, err) < 0)
        return -1;
    s->is_reading = true;
    return read_out(s, plain, is_end, ret_text, err);
}

static void forget(struct masker *s)
{
    buf_clear(&s->tail);
    s->tail_lines = 0;
    s->has_strings = s->is_reading = false;
}

int masker_literal_read(struct masker *s, bool is_end, struct clean_text *ret_text,
                        struct error *err)
{
    int r = 0;

    *ret_text = masker_clean(buf_str(&s->out), s->out.len);
    if (s->is_literal)
        return 0;
    if (!s->has_strings)
        r = is_end ? 0 : keep_tail(s, s->out.len, err);
    else if (!s->is_reading)
        r = begin_reading(s, is_end, ret_text, err);
    else
        r = read_out(s, 0, is_end, ret_text, err);
    s->plain_out = 0;
    if (is_end)
        forget(s);
    return r;
}
