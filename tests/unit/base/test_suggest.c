#include "unit.h"

#include "base/cleanup.h"
#include "base/suggest.h"

static const char *const commands[] = {"run", "doctor", "config", "version", "bench", NULL};

static const char *nearest(const char *word)
{
    return suggest_nearest(word, commands, ARRAY_SIZE(commands));
}

static void a_missing_letter_is_found(void **state)
{
    (void)state;
    assert_string_equal(nearest("confg"), "config");
}

static void an_extra_letter_is_found(void **state)
{
    (void)state;
    assert_string_equal(nearest("runn"), "run");
}

static void a_wrong_letter_is_found(void **state)
{
    (void)state;
    assert_string_equal(nearest("doktor"), "doctor");
}

static void swapped_neighbours_count_once(void **state)
{
    (void)state;
    assert_string_equal(nearest("rnu"), "run");
    assert_string_equal(nearest("bnech"), "bench");
}

static void case_does_not_count(void **state)
{
    (void)state;
    assert_string_equal(nearest("DOCTOR"), "doctor");
}

static void a_stranger_has_no_neighbour(void **state)
{
    (void)state;
    assert_null(nearest("frobnicate"));
    assert_null(nearest("x"));
    assert_null(nearest(""));
    assert_null(nearest(NULL));
}

static void the_nearest_of_several_wins(void **state)
{
    const char *const known[] = {"timeouts", "timeout", "time"};

    (void)state;
    assert_string_equal(suggest_nearest("timout", known, 3), "timeout");
}

static void a_very_long_word_is_no_slip(void **state)
{
    char word[200];

    (void)state;
    memset(word, 'r', sizeof(word) - 1);
    word[sizeof(word) - 1] = '\0';
    assert_null(nearest(word));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_letter_is_found),
        cmocka_unit_test(an_extra_letter_is_found),
        cmocka_unit_test(a_wrong_letter_is_found),
        cmocka_unit_test(swapped_neighbours_count_once),
        cmocka_unit_test(case_does_not_count),
        cmocka_unit_test(a_stranger_has_no_neighbour),
        cmocka_unit_test(the_nearest_of_several_wins),
        cmocka_unit_test(a_very_long_word_is_no_slip),
    };

    return UNIT_RUN(tests);
}
