#include "unit.h"

#include "engine/recorder_internal.h"

#define DAY_NS (UINT64_C(86400) * 1000000000)

static bool has_others(void *user)
{
    return *(const bool *)user;
}

static bool is_shared;

static struct recorder *make(struct recorder *witness, bool shared)
{
    is_shared = shared;
    witness->max_bytes = 8000;
    witness->has_others = has_others;
    witness->user = &is_shared;
    witness->shares_at_ns = loop_now_ns();
    return witness;
}

/* Writes until it is refused, and returns how much that was. */
static size_t fill(struct recorder *witness, const char *owner)
{
    struct error err = {0};
    size_t bytes = 0;

    for (; bytes < 10000 && recorder_check_share(witness, owner, 1, &err) == 0; bytes++)
        recorder_count(witness, owner, 1);
    if (bytes < 10000)
        assert_int_equal(err.code, E_BUSY);
    error_done(&err);
    return bytes;
}

static void each_token_finds_room(void **state)
{
    static struct recorder witness;

    (void)state;
    make(&witness, true);
    assert_int_equal(fill(&witness, "first"), 1500); /* half of 3000 */
    assert_int_equal(fill(&witness, "first"), 0);
    assert_int_equal(fill(&witness, "second"), 750);
    assert_true(fill(&witness, "third") > 300);
    recorder_free_shares(&witness);
}

static void a_day_grows_the_trail_by_less_than_it_holds(void **state)
{
    static struct recorder witness;
    size_t bytes = 0;

    (void)state;
    make(&witness, true);
    for (int hour = 0; hour < 24; hour++) {
        for (char name[] = "a"; *name <= 'z'; ++*name)
            bytes += fill(&witness, name);
        witness.shares_at_ns -= DAY_NS / 24;
    }
    assert_in_range(bytes, 4000, 6000);
    witness.shares_at_ns -= DAY_NS;
    assert_int_equal(fill(&witness, "a"), 1500);
    recorder_free_shares(&witness);
}

static void a_single_token_has_no_share_but_strangers_have_one(void **state)
{
    static struct recorder witness;

    (void)state;
    make(&witness, false);
    assert_int_equal(fill(&witness, ""), 1500);
    assert_int_equal(fill(&witness, "only"), 10000);
    assert_int_equal(recorder_check_share(&witness, NULL, 10000, NULL), 0);
    recorder_free_shares(&witness);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_token_finds_room),
        cmocka_unit_test(a_day_grows_the_trail_by_less_than_it_holds),
        cmocka_unit_test(a_single_token_has_no_share_but_strangers_have_one),
    };

    return UNIT_RUN(tests);
}
