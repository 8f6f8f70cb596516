/* A pattern, a newline and an output: a search through the spool finds exactly the lines that match
 * one by one, in order, with their places, however the reader stops and goes on. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/spool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct walk {
    const struct pattern *pattern;
    const char *text;
    size_t len, at;
    uint64_t line;
    unsigned stop_every, count;
};

/* Moves over one line; returns whether it matches. */
static bool step(struct walk *w)
{
    const char *from = w->text + w->at;
    const char *newline = memchr(from, '\n', w->len - w->at);
    size_t n = newline ? (size_t)(newline - from) : w->len - w->at, start, end;
    bool matches = pattern_find(w->pattern, from, n, &start, &end);

    w->at += n + (newline != NULL);
    w->line += newline != NULL;
    return matches;
}

static bool on_match(void *arg, const struct spool_match *match)
{
    struct walk *w = arg;

    while (w->at < match->place.offset)
        if (step(w))
            abort(); /* passed over */
    if (w->at != match->place.offset || w->line != match->place.line || !step(w))
        abort();
    return ++w->count % w->stop_every != 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const uint8_t *newline = len ? memchr(data, '\n', len) : NULL;
    struct spool_place place = {0, 1};
    struct spool_directory *store = NULL;
    struct pattern *pattern = NULL;
    struct spool *spool = NULL;
    struct walk w;

    /* Longer lines are searched in pieces. */
    if (!newline || len > 2 * KIB ||
        pattern_new((const char *)data, (size_t)(newline - data), false, &pattern, NULL) < 0)
        return 0;
    w = (struct walk){.pattern = pattern,
                      .text = (const char *)newline + 1,
                      .len = len - (size_t)(newline - data) - 1,
                      .line = 1,
                      .stop_every = 1 + data[0] % 5};
    if (spool_directory_new(NULL, MIB, &store, NULL) < 0 ||
        spool_new(store, NULL, &spool, NULL) < 0)
        abort();
    spool_add(spool, w.text, w.len);
    while (spool_search(spool, pattern, &place, on_match, &w, NULL) == 1)
        ;
    while (w.at < w.len)
        if (step(&w))
            abort();
    spool_free(spool);
    spool_directory_free(store);
    pattern_free(pattern);
    return 0;
}
