#include "unit.h"

#include "base/share.h"

/* Takes one at a time, as long as there is any. */
static uint64_t take_all(struct share *share, uint64_t own)
{
    share->own = own;
    while (share_allows(share, 1)) {
        share->own++;
        share->used++;
    }
    return share->own;
}

static void alone_one_has_everything(void **state)
{
    struct share share = {.total = 64};

    (void)state;
    assert_int_equal(take_all(&share, 0), 64);
}

static void whoever_comes_next_finds_room(void **state)
{
    struct share share = {.total = 64, .has_others = true};

    (void)state;
    assert_int_equal(take_all(&share, 0), 32);
    assert_int_equal(take_all(&share, 0), 16);
    assert_int_equal(take_all(&share, 0), 8);
    for (int i = 0; i < 3; i++)
        assert_true(take_all(&share, 0) > 0);
}

static void what_is_given_back_is_free_for_all(void **state)
{
    struct share share = {.total = 64, .has_others = true};

    (void)state;
    (void)take_all(&share, 0);
    share.used = 0;
    assert_int_equal(take_all(&share, 0), 32);
}

static void numbers_do_not_wrap(void **state)
{
    struct share share = {.total = 10, .used = 20, .own = 20, .has_others = true};

    (void)state;
    assert_false(share_allows(&share, 0));
    assert_false(share_allows(&share, 1));
    share = (struct share){.total = UINT64_MAX, .used = 1, .own = UINT64_MAX};
    share.has_others = true;
    assert_false(share_allows(&share, UINT64_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone_one_has_everything),
        cmocka_unit_test(whoever_comes_next_finds_room),
        cmocka_unit_test(what_is_given_back_is_free_for_all),
        cmocka_unit_test(numbers_do_not_wrap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
