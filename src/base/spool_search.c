#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/loop.h"
#include "base/spool.h"

/* Steps of the pattern's machine in one call, for which everything else waits. Most patterns take
 * one step a byte, which is a millisecond or two. The others take as many as they have
 * instructions: so the time is looked at, too, between lines, and a piece of a line has fewer
 * steps. One piece of the worst is some 20 ms. */
#define STEPS       ((size_t)8 << 20)
#define PIECE_STEPS ((size_t)2 << 20)
#define TIME_NS     ((uint64_t)8000000)

/* A look at the clock costs as much as some lines. */
#define CLOCK_STEPS ((size_t)64 << 10)

/* To begin a line costs as much as this many steps and once the size of the pattern, also when it
 * is empty; and so many of them all lines of one call may cost. */
#define LINE_STEPS  ((size_t)64)
#define LINES_STEPS ((size_t)4 << 20)

/* Also the costliest pattern gets on. */
#define PIECE_MIN ((size_t)KIB)

static size_t bytes_for(size_t steps, const struct pattern *pattern)
{
    size_t bytes = steps / pattern_cost(pattern);

    return bytes > PIECE_MIN ? bytes : PIECE_MIN;
}

struct search {
    const struct spool *spool;
    const struct pattern *pattern;
    struct spool_place *place;
    bool (*on_match)(void *arg, const struct spool_match *match);
    void *arg;
    char *data;
    size_t steps;  /* to begin the lines so far */
    size_t unseen; /* steps since the last look at the clock, at most */
    uint64_t began_ns;
    bool was_piece; /* the line goes on that was begun before */
};

static bool has_time(struct search *s, size_t len)
{
    s->unseen += LINE_STEPS + (len + 1) * pattern_cost(s->pattern);
    if (s->unseen < CLOCK_STEPS)
        return true;
    s->unseen = 0;
    return loop_cpu_ns() - s->began_ns < TIME_NS;
}

/* The line, or piece of one, at the front of `data`. Returns false when the caller has enough, or
 * the work for one call is done. */
static bool search_line(struct search *s, const char *data, size_t len, bool is_whole)
{
    struct spool_match match = {
        .place = *s->place,
        .text = data,
        .len = len,
        .is_piece = !is_whole || s->was_piece,
    };
    bool goes_on = true;

    /* The end of a line whose pieces came before is no empty line. */
    if ((len || !s->was_piece) && pattern_find(s->pattern, data, len, &match.start, &match.end))
        goes_on = s->on_match(s->arg, &match);
    s->place->offset += len + is_whole;
    s->place->line += is_whole;
    s->was_piece = !is_whole;
    s->steps += LINE_STEPS + pattern_cost(s->pattern);
    return goes_on && s->steps < LINES_STEPS && has_time(s, len);
}

/* All lines in `n` bytes; the last one only if nothing else can end it: it fills the buffer, or the
 * spool ends there. Returns false as search_line() does. */
static bool search_chunk(struct search *s, size_t n, bool is_end)
{
    const char *at = s->data, *end = s->data + n, *newline;

    while (at < end && (newline = memchr(at, '\n', (size_t)(end - at)))) {
        if (!search_line(s, at, (size_t)(newline - at), true))
            return false;
        at = newline + 1;
    }
    if (at < end && (is_end || at == s->data))
        return search_line(s, at, (size_t)(end - at), false);
    return true;
}

int spool_search(const struct spool *spool, const struct pattern *pattern,
                 struct spool_place *place,
                 bool (*on_match)(void *arg, const struct spool_match *match), void *arg,
                 struct error *err)
{
    size_t budget = bytes_for(STEPS, pattern), most = bytes_for(PIECE_STEPS, pattern);
    size_t piece = most < LIMIT_SPOOL_LINE ? most : LIMIT_SPOOL_LINE;
    cleanup_free char *data = malloc(piece);
    struct search s = {.spool = spool,
                       .pattern = pattern,
                       .place = place,
                       .on_match = on_match,
                       .arg = arg,
                       .data = data,
                       .began_ns = loop_cpu_ns()};
    uint64_t from = place->offset;
    struct spool_info info;
    bool goes_on = true;
    char before = '\n';

    if (!data)
        return error_memory(err);
    spool_info(spool, &info);
    if (from && spool_read(spool, from - 1, &before, 1, err) < 0)
        return -1;
    s.was_piece = before != '\n';
    while (goes_on && place->offset < info.size && place->offset - from < budget) {
        ssize_t n = spool_read(spool, place->offset, data, piece, err);

        if (n <= 0)
            return n < 0 ? -1 : 0;
        goes_on = search_chunk(&s, (size_t)n, place->offset + (uint64_t)n == info.size);
    }
    return place->offset < info.size;
}
