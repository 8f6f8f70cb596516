/* Any bytes through the masker: what comes out does not depend on how they were cut, is not masked
 * again into something else longer than itself without end, and a registered value never comes out.
 * Where a person decides, no syntax is hidden, and the hidden bytes are counted.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "mask/masker.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const char known[] = "kn0wn-v@lue";

/* The first piece has `first` bytes, the others have `piece`. */
static void mask(const struct masker_options *options, const uint8_t *data, size_t len,
                 size_t first, size_t piece, struct buf *out)
{
    struct masker *masker = masker_new(options);
    struct clean_text text;

    buf_init(out, SIZE_MAX / 2);
    if (!masker)
        abort();
    for (size_t at = 0, n = first; at < len; at += n, n = piece) {
        n = n < len - at ? n : len - at;
        if (masker_feed(masker, data + at, n, &text, NULL) < 0 ||
            buf_add(out, clean_data(text), clean_len(text), NULL) < 0)
            abort();
    }
    if (masker_finish(masker, &text, NULL) < 0 ||
        buf_add(out, clean_data(text), clean_len(text), NULL) < 0)
        abort();
    masker_free(masker);
}

static bool may_be_hidden(unsigned char c)
{
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') ||
           (c && strchr("_+/=.-", c));
}

/* Labels aside, everything else is there, and as often as before. */
static void review(const struct masker_values *values, const uint8_t *data, size_t len)
{
    struct masker *masker =
        masker_new(&(struct masker_options){.mode = MASKER_REVIEW, .values = values});
    struct clean_text text;
    long counts[256] = {0};
    uint64_t finds;

    if (!masker || masker_text(masker, data, len, &text, NULL) < 0)
        abort();
    finds = masker_count(masker);
    for (size_t i = 0; i < len; i++)
        counts[data[i]]++;
    for (size_t i = 0; i < clean_len(text); i++)
        counts[(unsigned char)clean_data(text)[i]]--;
    counts['['] += (long)finds;
    counts[']'] += (long)finds;
    for (unsigned c = 0; c < 256; c++)
        if (!may_be_hidden((unsigned char)c) && counts[c])
            abort();
    if ((finds == 0) != (masker_hidden_bytes(masker) == 0))
        abort();
    masker_free(masker);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct masker_values *values = masker_values_new();
    struct masker_options options = {.is_aggressive = len && data[0] & 1, .values = values};
    unsigned seed = len ? data[len - 1] : 0;
    const size_t cuts[][2] = {{1, 1},
                              {1 + seed % 9, 1 + seed % 9},
                              {1 + len * (seed & 15) / 16, len + 1},
                              {1 + len * (seed >> 4) / 16, 1 + seed % 5}};
    struct buf whole, cut;

    if (!values || masker_values_add(values, known, sizeof(known) - 1, NULL) < 0)
        abort();
    mask(&options, data, len, len + 1, 1, &whole);
    for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
        mask(&options, data, len, cuts[i][0], cuts[i][1], &cut);
        if (whole.len != cut.len || memcmp(buf_str(&whole), buf_str(&cut), whole.len) != 0)
            abort();
        buf_done(&cut);
    }
    if (whole.len && memmem(whole.data, whole.len, known, sizeof(known) - 1))
        abort();
    buf_done(&whole);
    review(values, data, len);
    masker_values_free(values);
    return 0;
}
