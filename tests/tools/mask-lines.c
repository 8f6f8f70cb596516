/* Masks texts the way a stream brings them, for tests in other languages.
 *
 * Reads records from stdin: 's' (secrets) or 'p' (personal data, too), the length as decimal
 * digits, a newline, and the text. For each it writes the length of the masked text, a newline and
 * the masked text, having made sure that every way of cutting the text in two, and feeding it byte
 * by byte, gives exactly the same: otherwise it says how it was cut and exits with 1. 'S' is 's'
 * without the cuts in two, for tests with many texts.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "mask/masker.h"

static struct buf out;

static void die(const char *what)
{
    (void)fprintf(stderr, "mask-lines: %s\n", what);
    exit(2);
}

static void take(struct clean_text text)
{
    if (buf_add(&out, clean_data(text), clean_len(text), NULL) < 0)
        die("out of memory");
}

/* In pieces of `first` bytes and then of `step` bytes. */
static void mask(struct masker *masker, const char *text, size_t len, size_t first, size_t step)
{
    struct clean_text part;

    buf_clear(&out);
    for (size_t at = 0, n = first; at < len; at += n, n = step) {
        n = n < len - at ? n : len - at;
        if (masker_feed(masker, text + at, n, &part, NULL) < 0)
            die("masker_feed");
        take(part);
    }
    if (masker_finish(masker, &part, NULL) < 0)
        die("masker_finish");
    take(part);
}

static void check(struct masker *masker, const char *text, size_t len, const struct buf *whole,
                  size_t first, size_t step)
{
    mask(masker, text, len, first, step);
    if (out.len == whole->len && (!out.len || memcmp(out.data, whole->data, out.len) == 0))
        return;
    (void)fprintf(
        stderr, "mask-lines: cut at %zu, then every %zu:\n%.*s\n--- whole:\n%.*s\n--- cut:\n%.*s\n",
        first, step, (int)len, text, (int)whole->len, buf_str(whole), (int)out.len, buf_str(&out));
    exit(1);
}

static void do_record(struct masker *masker, const char *text, size_t len, bool cuts_all)
{
    struct buf whole;

    buf_init(&whole, SIZE_MAX / 2);
    mask(masker, text, len, len, len);
    if (buf_add(&whole, buf_str(&out), out.len, NULL) < 0)
        die("out of memory");
    for (size_t cut = 1; cut < len && cuts_all; cut++)
        check(masker, text, len, &whole, cut, len);
    check(masker, text, len, &whole, 1, 1);
    check(masker, text, len, &whole, 7, 7);
    (void)printf("%zu\n", whole.len);
    (void)fwrite(buf_str(&whole), 1, whole.len, stdout);
    buf_done(&whole);
}

int main(void)
{
    struct masker *secrets = masker_new(&(struct masker_options){0});
    struct masker *all = masker_new(&(struct masker_options){.is_aggressive = true});
    char mode, head[32];

    buf_init(&out, SIZE_MAX / 2);
    if (!secrets || !all)
        die("out of memory");
    while (fgets(head, sizeof(head), stdin)) {
        size_t len;
        char *text;

        mode = head[0];
        len = strtoul(head + 1, NULL, 10);
        text = malloc(len + 1);
        if (!text || fread(text, 1, len, stdin) != len)
            die("a record is cut off");
        do_record(mode == 'p' ? all : secrets, text, len, mode != 'S');
        free(text);
    }
    masker_free(secrets);
    masker_free(all);
    buf_done(&out);
    return ferror(stdout) || fflush(stdout) ? 2 : 0;
}
