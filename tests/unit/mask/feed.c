#include "mask/feed.h"

struct scrub *scrub;
struct buf out;

void begin(const struct scrub_options *options)
{
    scrub_free(scrub);
    scrub = scrub_new(options ? options : &(struct scrub_options){0});
    assert_non_null(scrub);
    buf_done(&out);
    buf_init(&out, SIZE_MAX / 2);
}

static const char *keep(const struct clean_text *part)
{
    assert_int_equal(buf_add(&out, clean_data(*part), clean_len(*part), NULL), 0);
    return clean_data(*part);
}

const char *feed_bytes(const char *text, size_t len)
{
    struct clean_text part;

    assert_int_equal(scrub_feed(scrub, text, len, &part, NULL), 0);
    return keep(&part);
}

const char *feed(const char *text)
{
    return feed_bytes(text, strlen(text));
}

const char *finish(void)
{
    struct clean_text part;

    assert_int_equal(scrub_finish(scrub, &part, NULL), 0);
    (void)keep(&part);
    return buf_str(&out);
}
