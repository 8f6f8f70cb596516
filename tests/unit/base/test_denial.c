/* Denials of a run: bounded, counted, one line, masked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/run.h"
#include "mask/masker.h"
#include "unit.h"

TEST(repetitions_are_counted_and_the_list_is_bounded)
{
    struct run *run = run_new();
    char what[32];

    for (int i = 0; i < 2 * LIMIT_DENIALS; i++) {
        (void)snprintf(what, sizeof(what), "write %d", i);
        assert_int_equal(run_deny(run, what, "write grant", "hint"), 0);
        assert_int_equal(run_deny(run, "write 0", "write grant", "hint"), 0);
    }
    assert_int_equal(run->result.n_denials, LIMIT_DENIALS);
    assert_int_equal(run->result.denials_more, LIMIT_DENIALS);
    assert_int_equal(run->result.denials[0].count, 1 + 2 * LIMIT_DENIALS);
    assert_int_equal(run->result.denials[1].count, 1);
    assert_int_equal(run_deny(run, "write 0", "network gate", NULL), 0); /* of another layer */
    assert_int_equal(run->result.denials_more, LIMIT_DENIALS + 1);
    run_free(run);
}

/* Replaces everything after "key=" with a label. */
static struct clean_text mask(struct run *run, const char *text, size_t len)
{
    static char masked[16 * 1024];
    const char *key = memmem(text, len, "key=", 4);

    (void)run;
    if (!key)
        return masker_pass_unmasked(text, len);
    (void)snprintf(masked, sizeof(masked), "%.*s[X]", (int)(key - text), text);
    return masker_pass_unmasked(masked, strlen(masked));
}

TEST(words_of_a_program_are_masked_before_they_are_cut)
{
    struct run *run = run_new();
    static char path[20000];

    memset(path, 'a', 400);
    (void)strncat(path, "key=", 5);
    memset(path + 404, 's', 10000);
    assert_int_equal(run_deny(run, path, "write grant", path), 0);
    memset(path, 'b', 6000);
    path[6000] = '\0';
    assert_int_equal(run_deny(run, path, "write grant", NULL), 0);
    run_mask_denials(run, mask);
    assert_int_equal(run->result.n_denials, 2);
    assert_int_equal(strlen(run->result.denials[0].what), 403);
    assert_string_equal(run->result.denials[0].what + 400, "[X]");
    assert_string_equal(run->result.denials[0].hint + 400, "[X]");
    assert_true(strlen(run->result.denials[1].what) <= LIMIT_DENIAL_BYTES + 3);
    assert_string_equal(run->result.denials[1].what + LIMIT_DENIAL_BYTES, "…");
    run_mask_denials(run, mask); /* once is enough */
    assert_int_equal(strlen(run->result.denials[0].what), 403);
    run_free(run);
}

TEST(what_nobody_sees_is_told)
{
    struct run *run = run_new();

    assert_int_equal(run_deny(run, "a\u200bb\u00adc\U000e0041d", "x", "\ufeffh"), 0);
    assert_string_equal(run->result.denials[0].what, "a\u200bb\u00adc\U000e0041d"); /* as masked */
    run_mask_denials(run, mask);
    assert_string_equal(run->result.denials[0].what, "a?b?c?d");
    assert_string_equal(run->result.denials[0].hint, "?h");
    run_free(run);
}

TEST(a_denial_is_one_line_of_text)
{
    struct run *run = run_new();

    assert_int_equal(run_deny(run, "a\nb\r\x1b[1m\x7f\xc3\xbc\xff\xc3", "x", "h\n[note] i"), 0);
    assert_string_equal(run->result.denials[0].what, "a?b??[1m?\xc3\xbc??");
    assert_string_equal(run->result.denials[0].hint, "h?[note] i");
    run_free(run);
}

UNIT_MAIN()
