/* An expression, a newline and a text, which is repeated: one call that searches an output, as a
 * client can ask for it with a few bytes. For slow.h: its time is that of one turn of the loop. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/spool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define OUTPUT_BYTES (256 * KIB)

static bool on_match(void *arg, const struct spool_match *match)
{
    size_t *count = arg;

    if (match->start > match->end || match->end > match->len)
        abort();
    return ++*count < 1000;
}

static struct spool *make_output(struct spool_directory *store, const char *text, size_t len)
{
    static char output[OUTPUT_BYTES];
    struct spool *spool = NULL;

    for (size_t n = 0; n < OUTPUT_BYTES; n++)
        output[n] = text[n % len];
    if (spool_new(store, NULL, &spool, NULL) < 0)
        abort();
    spool_add(spool, output, OUTPUT_BYTES);
    return spool;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const char *newline = len ? memchr(data, '\n', len) : NULL;
    size_t text_len = newline ? len - (size_t)(newline - (const char *)data) - 1 : 0, count = 0;
    struct spool_place place = {0, 1}, before;
    struct spool_directory *store = NULL;
    struct pattern *pattern = NULL;
    struct spool *spool;

    if (!text_len || pattern_new((const char *)data, (size_t)(newline - (const char *)data),
                                 len & 1, &pattern, NULL) < 0)
        return 0;
    if (spool_directory_new(NULL, MIB, &store, NULL) < 0)
        abort();
    spool = make_output(store, newline + 1, text_len);
    before = place;
    if (spool_search(spool, pattern, &place, on_match, &count, NULL) == 1 &&
        place.offset <= before.offset)
        abort(); /* it does not get on */
    spool_free(spool);
    spool_directory_free(store);
    pattern_free(pattern);
    return 0;
}
