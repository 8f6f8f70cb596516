#include "mask/feed.h"

struct masker *masker;
struct buf out;

void begin(const struct masker_options *options)
{
    masker_free(masker);
    masker = masker_new(options ? options : &(struct masker_options){0});
    assert_non_null(masker);
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

    assert_int_equal(masker_feed(masker, text, len, &part, NULL), 0);
    return keep(&part);
}

const char *feed(const char *text)
{
    return feed_bytes(text, strlen(text));
}

const char *finish(void)
{
    struct clean_text part;

    assert_int_equal(masker_finish(masker, &part, NULL), 0);
    (void)keep(&part);
    return buf_str(&out);
}
