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

TEST(alone_one_has_everything)
{
    struct share share = {.total = 64};

    assert_int_equal(take_all(&share, 0), 64);
}

TEST(whoever_comes_next_finds_room)
{
    struct share share = {.total = 64, .has_others = true};

    assert_int_equal(take_all(&share, 0), 32);
    assert_int_equal(take_all(&share, 0), 16);
    assert_int_equal(take_all(&share, 0), 8);
    for (int i = 0; i < 3; i++)
        assert_true(take_all(&share, 0) > 0);
}

TEST(what_is_given_back_is_free_for_all)
{
    struct share share = {.total = 64, .has_others = true};

    (void)take_all(&share, 0);
    share.used = 0;
    assert_int_equal(take_all(&share, 0), 32);
}

TEST(numbers_do_not_wrap)
{
    struct share share = {.total = 10, .used = 20, .own = 20, .has_others = true};

    assert_false(share_allows(&share, 0));
    assert_false(share_allows(&share, 1));
    share = (struct share){.total = UINT64_MAX, .used = 1, .own = UINT64_MAX};
    share.has_others = true;
    assert_false(share_allows(&share, UINT64_MAX));
}

UNIT_MAIN()
