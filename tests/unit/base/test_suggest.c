#include "unit.h"

#include "base/cleanup.h"
#include "base/suggest.h"

static const char *const commands[] = {"run", "doctor", "config", "version", "bench", NULL};

static const char *nearest(const char *word)
{
    return suggest_nearest(word, commands, ARRAY_SIZE(commands));
}

TEST(a_missing_letter_is_found)
{
    assert_string_equal(nearest("confg"), "config");
}

TEST(an_extra_letter_is_found)
{
    assert_string_equal(nearest("runn"), "run");
}

TEST(a_wrong_letter_is_found)
{
    assert_string_equal(nearest("doktor"), "doctor");
}

TEST(swapped_neighbours_count_once)
{
    assert_string_equal(nearest("rnu"), "run");
    assert_string_equal(nearest("bnech"), "bench");
}

TEST(case_does_not_count)
{
    assert_string_equal(nearest("DOCTOR"), "doctor");
}

TEST(a_stranger_has_no_neighbour)
{
    assert_null(nearest("frobnicate"));
    assert_null(nearest("x"));
    assert_null(nearest(""));
    assert_null(nearest(NULL));
}

TEST(a_name_is_found_by_one_of_its_words)
{
    const char *const known[] = {"read_output", NULL, "review_changes"};

    assert_string_equal(suggest_by_words("apply changes", known, 3), "review_changes");
    assert_string_equal(suggest_by_words("OUTPUT", known, 3), "read_output");
    assert_null(suggest_by_words("put rev", known, 3));
    assert_null(suggest_by_words("", known, 3));
}

TEST(the_nearest_of_several_wins)
{
    const char *const known[] = {"timeouts", "timeout", "time"};

    assert_string_equal(suggest_nearest("timout", known, 3), "timeout");
}

TEST(a_very_long_word_is_no_slip)
{
    char word[200];

    memset(word, 'r', sizeof(word) - 1);
    word[sizeof(word) - 1] = '\0';
    assert_null(nearest(word));
}

UNIT_MAIN()
