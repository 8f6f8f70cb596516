/* Looks for texts that keep the masker busy. The input is repeated to a text that is long enough
 * for quadratic work to show, and the bytes that were examined for each byte of it are the fuzzer's
 * feedback: an input that costs more than any before is kept and changed further. More than BOUND
 * is a failure. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mask/masker.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define TEXT_SIZE ((size_t)12288)
#define BOUND     ((uint64_t)128)

/* In small pieces. */
#define PIECE ((size_t)5)

/* Each piece may cost as much, whatever its size: the end of the text is looked at with each. Text
 * with titles and links of terminals is read by two maskers. */
#define BOUND_PIECE ((uint64_t)1024)

/* The masker puts off work that it cannot afford beyond this. */
#define BOUND_START ((uint64_t)2 << 20)

/* libFuzzer takes these as coverage: one for each cost that was reached. */
__attribute__((used, section("__libfuzzer_extra_counters"))) static uint8_t costs[BOUND + 1];

static const char known[] = "kn0wn-v@lue", other[] = "kn0wn-v@lkn0wn-v@l;x";

static uint64_t work_of(const struct masker_options *options, const char *text, size_t len,
                        size_t piece)
{
    struct masker *masker = masker_new(options);
    struct clean_text out;
    uint64_t work;

    if (!masker)
        abort();
    for (size_t at = 0; at < len; at += piece)
        if (masker_feed(masker, text + at, len - at < piece ? len - at : piece, &out, NULL) < 0)
            abort();
    if (masker_finish(masker, &out, NULL) < 0)
        abort();
    work = masker_is_over(masker) ? UINT64_MAX : masker_work(masker);
    masker_free(masker);
    return work;
}

static void check(const struct masker_options *options, const char *text, size_t len)
{
    uint64_t work = work_of(options, text, len, len), cost = work / len;

    if (cost > BOUND) {
        (void)fprintf(stderr, "%llu bytes examined for each\n", (unsigned long long)cost);
        abort();
    }
    costs[cost] = 1;
}

static void check_pieces(const struct masker_options *options, const char *text, size_t len)
{
    uint64_t work = work_of(options, text, len, PIECE);

    if (work <= BOUND_START + 2 * BOUND * len + BOUND_PIECE * (len / PIECE + 1))
        return;
    (void)fprintf(stderr, "%llu bytes examined for each, in small pieces\n",
                  (unsigned long long)(work / len));
    abort();
}

/* Of the first byte: what is masked, what stands before and behind the text, and how it comes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const char *const befores[] = {"", "pwd='", "kind: Secret\n", "authorization: "};
    static const char *const behinds[] = {"", "://x\n"};
    struct masker_values *values = NULL;
    struct masker_rules *rules = NULL;
    static char text[TEXT_SIZE + 64];
    struct masker_options options = {0};
    size_t n;
    const char *before, *behind;

    if (len < 2 || len > TEXT_SIZE / 4)
        return 0;
    options.is_aggressive = data[0] & 1;
    options.mode = data[0] & 2 ? MASKER_REVIEW : MASKER_FULL;
    if (data[0] & 4) {
        options.values = values = masker_values_new();
        options.rules = rules = masker_rules_new();
        if (!values || !rules || masker_values_add(values, known, sizeof(known) - 1, NULL) < 0 ||
            masker_values_add(values, other, sizeof(other) - 1, NULL) < 0 ||
            masker_rules_add(rules, "badge", "EMP-[0-9]{3}", "staff", NULL) < 0)
            abort();
    }
    before = befores[data[0] >> 3 & 3];
    behind = behinds[data[0] >> 5 & 1];
    n = strlen(before);
    memcpy(text, before, n);
    for (; n + len - 1 <= TEXT_SIZE; n += len - 1)
        memcpy(text + n, data + 1, len - 1);
    memcpy(text + n, behind, strlen(behind));
    n += strlen(behind);
    if (data[0] & 0x40)
        check_pieces(&options, text, n);
    else
        check(&options, text, n);
    masker_values_free(values);
    masker_rules_free(rules);
    return 0;
}
