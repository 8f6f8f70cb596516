#include "unit.h"

#include "engine/recorder_internal.h"

#define DAY_NS (UINT64_C(86400) * 1000000000)

static bool has_others(void *user)
{
    return *(const bool *)user;
}

static bool is_shared;

static struct recorder *make(struct recorder *recorder, bool shared)
{
    is_shared = shared;
    recorder->max_bytes = 8000;
    recorder->has_others = has_others;
    recorder->user = &is_shared;
    recorder->shares_at_ns = loop_now_ns();
    return recorder;
}

/* Writes until it is refused, and returns how much that was. */
static size_t fill(struct recorder *recorder, const char *owner)
{
    struct error err = {0};
    size_t bytes = 0;

    for (; bytes < 10000 && recorder_check_share(recorder, owner, 1, &err) == 0; bytes++)
        recorder_count(recorder, owner, 1);
    if (bytes < 10000)
        assert_int_equal(err.code, E_BUSY);
    error_done(&err);
    return bytes;
}

TEST(each_token_finds_room)
{
    static struct recorder recorder;

    make(&recorder, true);
    assert_int_equal(fill(&recorder, "first"), 1500); /* half of 3000 */
    assert_int_equal(fill(&recorder, "first"), 0);
    assert_int_equal(fill(&recorder, "second"), 750);
    assert_true(fill(&recorder, "third") > 300);
    recorder_free_shares(&recorder);
}

TEST(a_day_grows_the_trail_by_less_than_it_holds)
{
    static struct recorder recorder;
    size_t bytes = 0;

    make(&recorder, true);
    for (int hour = 0; hour < 24; hour++) {
        for (char name[] = "a"; *name <= 'z'; ++*name)
            bytes += fill(&recorder, name);
        recorder.shares_at_ns -= DAY_NS / 24;
    }
    assert_in_range(bytes, 4000, 6000);
    recorder.shares_at_ns -= DAY_NS;
    assert_int_equal(fill(&recorder, "a"), 1500);
    recorder_free_shares(&recorder);
}

TEST(a_single_token_has_no_share_but_strangers_have_one)
{
    static struct recorder recorder;

    make(&recorder, false);
    assert_int_equal(fill(&recorder, ""), 1500);
    assert_int_equal(fill(&recorder, "only"), 10000);
    assert_int_equal(recorder_check_share(&recorder, NULL, 10000, NULL), 0);
    recorder_free_shares(&recorder);
}

UNIT_MAIN()
