/* The second reading. A terminal shows nothing of a title or a link, so that a token with one
 * inside is whole on the screen: the masker looks at the text without them. But they are text to
 * everybody else, and may hold a secret, or be the middle of one: what has come out is then read
 * once more, by a masker that knows no strings. Text without such sequences is read once. */
#include "scrub/scrub_internal.h"

/* So that the second masker, when it comes, knows what stood before. */
static int keep_tail(struct scrub *s, struct error *err)
{
    size_t room = SCRUB_TAIL, n = s->out.len < room ? s->out.len : room;

    if (!n)
        return 0;
    /* Seldom, so that a stream of single bytes does not move it each time. */
    if (s->tail.len + n > s->tail.limit)
        buf_consume(&s->tail, s->tail.len + n - room);
    s->tail_lines = s->lines;
    return buf_add(&s->tail, s->out.data + s->out.len - n, n, err);
}

/* It has read the tail, and given it out. */
static int begin(struct scrub *s, struct error *err)
{
    struct scrub *literal = s->literal;
    int escape;

    if (!literal) {
        literal = s->literal = scrub_new(&s->options);
        if (!literal)
            return error_memory(err);
        literal->is_literal = true;
    }
    if (s->tail.len > SCRUB_TAIL)
        buf_consume(&s->tail, s->tail.len - SCRUB_TAIL);
    if (scrub_view_add(literal, (const unsigned char *)buf_str(&s->tail), s->tail.len, err) < 0)
        return -1;
    /* What looks like half a character was none, or it would not have come out. */
    escape = literal->escape;
    if (scrub_view_finish(literal, err) < 0)
        return -1;
    literal->escape = escape;
    literal->emitted = literal->rules_done = literal->view.len;
    literal->gaps_out = literal->n_gaps;
    literal->lines = s->tail_lines ? s->tail_lines : 1;
    return 0;
}

static int read_out(struct scrub *s, bool is_end, struct clean_text *ret_text, struct error *err)
{
    return is_end ? scrub_text(s->literal, s->out.data, s->out.len, ret_text, err)
                  : scrub_feed(s->literal, s->out.data, s->out.len, ret_text, err);
}

static void forget(struct scrub *s)
{
    buf_clear(&s->tail);
    s->tail_lines = 0;
    s->has_strings = s->is_reading = false;
}

int scrub_literal_read(struct scrub *s, bool is_end, struct clean_text *ret_text, struct error *err)
{
    int r = 0;

    *ret_text = (struct clean_text){buf_str(&s->out), s->out.len};
    if (s->is_literal)
        return 0;
    if (!s->has_strings) {
        r = is_end ? 0 : keep_tail(s, err);
    } else {
        if (!s->is_reading && begin(s, err) < 0)
            return -1;
        s->is_reading = true;
        r = read_out(s, is_end, ret_text, err);
    }
    if (is_end)
        forget(s);
    return r;
}
