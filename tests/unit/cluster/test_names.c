#include "cluster/names.h"

#include "unit.h"

static int new_names(void **state)
{
    *state = names_new();
    return *state ? 0 : -1;
}

static int free_names(void **state)
{
    names_free(*state);
    return 0;
}

#define NAMES_TEST(name) TEST_WITH(name, new_names, free_names)

NAMES_TEST(what_is_learned_is_known_until_it_is_forgotten)
{
    struct names *names = *state;

    assert_null(names_find(names, "a.b"));
    names_learn(names, names_epoch(names), "a.b", "a1");
    assert_string_equal(names_find(names, "a.b"), "a1");
    names_forget(names, "a.b");
    assert_null(names_find(names, "a.b"));
}

/* The news that somebody has written it come before the answer, which is older. */
NAMES_TEST(an_answer_that_news_have_overtaken_is_not_learned)
{
    struct names *names = *state;
    uint64_t epoch = names_epoch(names);

    names_forget(names, "a.b");
    names_learn(names, epoch, "a.b", "a1");
    assert_null(names_find(names, "a.b"));

    epoch = names_epoch(names);
    names_forget_all(names);
    names_learn(names, epoch, "a.b", "a1");
    assert_null(names_find(names, "a.b"));
}

NAMES_TEST(where_news_may_be_missing_nothing_is_known)
{
    struct names *names = *state;

    names_learn(names, names_epoch(names), "a.b", "a1");
    names_learn(names, names_epoch(names), "c.d", "a2");
    names_forget_all(names);
    assert_null(names_find(names, "a.b"));
    assert_null(names_find(names, "c.d"));
}

UNIT_MAIN()
