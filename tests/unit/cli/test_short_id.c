#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/short_id.h"

#define A "run_01AAAAAAAAAAAAAAAAAAAAAAAA"
#define B "run_01BBBBBBBBBBBBBBBBBBBBBAAA"
#define C "ses_01CCCCCCCCCCCCCCCCCCCCCCCC"

static int find(const char *word, char best[static SHORT_ID_SIZE], struct error *err)
{
    static const char *const ids[] = {A, B, C, A, B, C};
    cleanup(short_id_done) struct short_id search = {.word = word};
    int r;

    for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
        (void)short_id_try_name(&search, ids[i], i == 2 ? "mine" : NULL);
    r = short_id_result(&search, err);
    (void)snprintf(best, SHORT_ID_SIZE, "%s", search.best);
    return r;
}

TEST(a_part_or_a_name_finds_the_id)
{
    static const struct {
        const char *word, *id;
    } cases[] = {{A, A},      {"01A", A},  {"run_01b", B},  {"BAAA", B},    {"baaa", B},
                 {"mine", C}, {"ses_", C}, {"AAAAAAAA", A}, {"01CCCCCC", C}};

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char best[SHORT_ID_SIZE];

        assert_int_equal(find(cases[i].word, best, NULL), 1);
        assert_string_equal(best, cases[i].id);
    }
}

TEST(a_word_that_fits_several_names_them)
{
    struct error err = {0};
    char best[SHORT_ID_SIZE];

    assert_int_equal(find("run_", best, &err), -1);
    assert_error(&err, E_INVALID, "`run_` fits several ids: " A ", " B);
    error_done(&err);
}

TEST(a_word_that_fits_none_is_no_error)
{
    static const char *const words[] = {"zzzz", "AAX", "ine", A "A"};
    char best[SHORT_ID_SIZE];

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        assert_int_equal(find(words[i], best, NULL), 0);
}

TEST(an_id_that_is_too_long_is_left_out)
{
    cleanup(short_id_done) struct short_id search = {.word = "x"};
    char id[SHORT_ID_SIZE + 1];

    memset(id, 'x', sizeof(id));
    id[SHORT_ID_SIZE] = '\0';
    assert_false(short_id_try(&search, id));
    assert_int_equal(short_id_result(&search, NULL), 0);
}

UNIT_MAIN()
