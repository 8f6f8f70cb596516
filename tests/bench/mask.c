/* mask-bench FILE...: how fast the masker is on these texts, against an engine that tries one
 * pattern after the other on the same texts. Prints one JSON object. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/pattern.h"
#include "mask/kinds.h"
#include "mask/masker.h"

#define TEXT_MAX ((size_t)64 << 20)
#define BLOCK    ((size_t)65536)

#define ROUNDS     5
#define SMALL_RUNS 20000

static double now_s(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void fail(const char *what)
{
    (void)fprintf(stderr, "mask-bench: %s\n", what);
    exit(1);
}

static void read_texts(struct buf *text, char **paths)
{
    for (; *paths; paths++) {
        cleanup_close int fd = open(*paths, O_RDONLY | O_CLOEXEC);

        if (fd < 0 || buf_read_fd(text, fd, NULL) < 0)
            fail(*paths);
    }
}

/* The best of some rounds, in MB per second: whatever else the machine did only makes it slower. */
static double masker(const struct buf *text, bool is_aggressive, uint64_t *ret_found)
{
    double best = 0;

    for (int round = 0; round < ROUNDS; round++) {
        struct masker *masker =
            masker_new(&(struct masker_options){.is_aggressive = is_aggressive});
        struct clean_text out;
        double begin = now_s(), rate;

        for (size_t at = 0; at < text->len; at += BLOCK)
            if (!masker ||
                masker_feed(masker, text->data + at,
                            text->len - at < BLOCK ? text->len - at : BLOCK, &out, NULL) < 0)
                fail("the masker failed");
        if (!masker || masker_finish(masker, &out, NULL) < 0)
            fail("the masker failed");
        rate = (double)text->len / 1e6 / (now_s() - begin);
        best = rate > best ? rate : best;
        *ret_found = masker_count(masker);
        masker_free(masker);
    }
    return best;
}

/* RE2 counts to a thousand; beyond, without end. */
static void open_ranges(char *pattern)
{
    for (char *comma = pattern; (comma = strchr(comma, ',')); comma++) {
        size_t digits = strspn(comma + 1, "0123456789");

        if (digits > 3 && comma[1 + digits] == '}')
            memmove(comma + 1, comma + 1 + digits, strlen(comma + 1 + digits) + 1);
    }
}

/* As it is usually done: every pattern is looked for in the whole text. */
static double one_by_one(const struct buf *text)
{
    double begin = now_s();
    const struct masker_kind *kind;

    for (unsigned i = 0; (kind = masker_kind_at(i)); i++) {
        cleanup_free char *text_of = strdup(kind->pattern);
        struct pattern *pattern;
        size_t at = 0, start, end;

        if (kind->flags & MASKER_AGGRESSIVE)
            continue;
        if (!text_of)
            fail("out of memory");
        open_ranges(text_of);
        if (pattern_new(text_of, strlen(text_of), kind->flags & MASKER_ANYCASE, &pattern, NULL) < 0)
            fail(text_of);
        while (at < text->len &&
               pattern_find(pattern, text->data + at, text->len - at, &start, &end))
            at += end > start ? end : end + 1;
        pattern_free(pattern);
    }
    return (double)text->len / 1e6 / (now_s() - begin);
}

/* The cost of a run that prints a line: two maskers, of which one is fed. */
static double small_run_us(void)
{
    static const char line[] = "the answer is 42\n";
    double begin = now_s();

    for (int i = 0; i < SMALL_RUNS; i++) {
        struct masker *masker = masker_new(&(struct masker_options){0});
        struct clean_text out;

        if (!masker || masker_feed(masker, line, sizeof(line) - 1, &out, NULL) < 0 ||
            masker_finish(masker, &out, NULL) < 0)
            fail("the masker failed");
        masker_free(masker);
    }
    return (now_s() - begin) * 1e6 / SMALL_RUNS;
}

int main(int argc, char **argv)
{
    cleanup(buf_done) struct buf text = {0};
    uint64_t found = 0, found_all = 0;
    double secrets, all;

    buf_init(&text, TEXT_MAX);
    if (argc < 2)
        fail("which texts?");
    read_texts(&text, argv + 1);
    secrets = masker(&text, false, &found);
    all = masker(&text, true, &found_all);
    (void)printf("{\"mb\": %.1f, \"mb_per_s\": %.1f, \"aggressive_mb_per_s\": %.1f, "
                 "\"one_by_one_mb_per_s\": %.2f, \"small_run_us\": %.2f, \"found\": %llu, "
                 "\"found_aggressive\": %llu}\n",
                 (double)text.len / 1e6, secrets, all, one_by_one(&text), small_run_us(),
                 (unsigned long long)found, (unsigned long long)found_all);
    return 0;
}
