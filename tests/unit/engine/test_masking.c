#include "unit.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fiber.h"
#include "base/limits.h"
#include "engine/masking.h"

static struct masks *masks;

/* One of several long texts that are masked at the same time, each in a fiber. */
struct work {
    struct run *run;
    struct buf text, clean;
    struct fiber *fiber;
    unsigned turns;
};

static void mask(void *arg)
{
    struct work *work = arg;
    struct clean_text clean =
        mask_text(mask_context_of(work->run), (struct span){buf_str(&work->text), work->text.len});

    assert_return_code(buf_add(&work->clean, clean_data(clean), clean_len(clean), NULL), 0);
}

static void begin(struct work *work, const char *unit, size_t size)
{
    *work = (struct work){.run = run_new()};
    assert_non_null(work->run);
    work->run->terms.masking = RUN_MASK_SECRETS;
    work->run->masks = masks;
    buf_init(&work->text, 2 * size);
    buf_init(&work->clean, 4 * size);
    while (work->text.len < size)
        assert_return_code(buf_add_str(&work->text, unit, NULL), 0);
    work->fiber = fiber_new(mask, work);
    assert_non_null(work->fiber);
}

static void finish(struct work *work)
{
    fiber_free(work->fiber);
    buf_done(&work->text);
    buf_done(&work->clean);
    run_free(work->run);
}

#define SECRET "password = 'Tr0ub4dor&3xyz'\n"

/* The masker's result for the text in one go, and how much it finds. */
static void check(const struct work *work)
{
    struct run *run = run_new();
    struct clean_text clean;

    assert_non_null(run);
    run->terms.masking = RUN_MASK_SECRETS;
    run->masks = masks;
    clean = mask_text(mask_context_of(run), (struct span){buf_str(&work->text), work->text.len});
    assert_int_equal(work->clean.len, clean_len(clean));
    assert_memory_equal(work->clean.data, clean_data(clean), clean_len(clean));
    assert_int_equal(work->run->result.masked.count, run->result.masked.count);
    assert_true(run->result.masked.count > 1000);
    assert_int_equal(work->run->result.error.code, E_NONE);
    run_free(run);
}

TEST(long_texts_are_masked_side_by_side)
{
    struct work works[2];
    bool is_over = false;

    begin(&works[0], "Ada wrote " SECRET, 2 * MIB);
    begin(&works[1], "api_key = \"s3cr3tV4lu3Xy9\" and " SECRET, 3 * MIB);
    while (!is_over) {
        is_over = true;
        for (size_t i = 0; i < 2; i++) {
            works[i].turns++;
            is_over = fiber_resume(works[i].fiber) && is_over;
        }
    }
    for (size_t i = 0; i < 2; i++) {
        assert_true(works[i].turns > 2);
        check(&works[i]);
        finish(&works[i]);
    }
}

TEST(a_text_that_nobody_wants_is_withheld_without_an_error)
{
    struct work work;

    begin(&work, SECRET, 8 * MIB);
    assert_false(fiber_resume(work.fiber));
    fiber_cancel(work.fiber);
    assert_true(fiber_resume(work.fiber));
    assert_int_equal(work.clean.len, 0);
    assert_int_equal(work.run->result.error.code, E_NONE);
    finish(&work);
}

/* A new secret while a text is masked: the masker that did not know it is not used again. */
TEST(a_value_that_comes_later_is_masked_in_the_next_text)
{
    struct masker_values *values = masker_values_new();
    struct work work;
    struct clean_text clean;

    assert_non_null(values);
    begin(&work, SECRET, 4 * MIB);
    assert_false(fiber_resume(work.fiber));
    assert_return_code(masker_values_add(values, "plain-looking-words", 19, NULL), 0);
    masks_set(masks, NULL, values);
    while (!fiber_resume(work.fiber))
        ;
    clean = mask_text(mask_context_of(work.run), span_of("say plain-looking-words to me"));
    assert_null(memmem(clean_data(clean), clean_len(clean), "plain-looking-words", 19));
    finish(&work);
    masks_set(masks, NULL, NULL);
    masker_values_free(values);
}

static void expect(struct run *run, const char *text, bool is_masked)
{
    struct clean_text clean = mask_text(mask_context_of(run), span_of(text));

    assert_int_equal(memmem(clean_data(clean), clean_len(clean), text, strlen(text)) == NULL,
                     is_masked);
}

/* Values of one engine mean nothing to another. */
TEST(two_sets_of_values_do_not_mix)
{
    static const char *const texts[] = {"plain-looking-words", "other-looking-words"};
    struct masker_values *values[2];
    struct masks *sets[2];
    struct run *run = run_new();

    assert_non_null(run);
    run->terms.masking = RUN_MASK_SECRETS;
    for (size_t i = 0; i < 2; i++) {
        values[i] = masker_values_new();
        assert_return_code(masker_values_add(values[i], texts[i], strlen(texts[i]), NULL), 0);
        sets[i] = masks_new(NULL, values[i], NULL);
        assert_non_null(sets[i]);
    }
    for (size_t turn = 0; turn < 4; turn++) {
        run->masks = sets[turn % 2];
        for (size_t i = 0; i < 2; i++)
            expect(run, texts[i], i == turn % 2);
    }
    masks_free(sets[0]);
    expect(run, texts[1], true);
    masks_free(sets[1]);
    for (size_t i = 0; i < 2; i++)
        masker_values_free(values[i]);
    run_free(run);
}

TEST(without_a_masker_nothing_comes_out)
{
    struct run *run = run_new();
    cleanup(buf_done) struct buf shown = {0};
    struct masker *masker = NULL;

    assert_non_null(run);
    buf_init(&shown, KIB);
    run->terms.masking = RUN_MASK_SECRETS;
    assert_int_equal(clean_len(mask_text(mask_context_of(run), span_of("text"))), 0);
    assert_int_equal(run->result.error.code, E_INTERNAL);
    assert_int_equal(clean_len(mask_stream(mask_context_of(run), &masker, "text", 4)), 0);
    assert_int_equal(mask_for_review(mask_context_of(run), span_of("text"), &shown, NULL), -1);
    run_free(run);
}

int main(void)
{
    int failed;

    masks = masks_new(NULL, NULL, NULL);
    failed = unit_run(NULL, NULL);
    masks_free(masks);
    return failed;
}
