#include "unit.h"

#include "admit/quota.h"

#define S 1000000000ull

TEST(runs_flow_back_evenly)
{
    struct caller c = {0};
    struct error err = {0};
    unsigned wait = 0;
    uint64_t now = 1000 * S;

    rights_init(&c.rights);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(quota_take_run(&c, now, &wait, &err), 0); /* no bound, no end */
    c.rights.runs_per_minute = 6;
    for (int i = 0; i < 6; i++)
        assert_int_equal(quota_take_run(&c, now, &wait, &err), 0);
    assert_true(quota_take_run(&c, now, &wait, &err) < 0);
    assert_error(&err, E_BUSY, "`runs_per_minute`");
    assert_int_equal(wait, 11); /* 10 seconds, and one to be sure */
    assert_true(quota_take_run(&c, now + 9 * S, &wait, &err) < 0);
    error_done(&err);
    assert_int_equal(quota_take_run(&c, now + 10 * S, &wait, &err), 0);
    assert_true(quota_take_run(&c, now + 10 * S, &wait, &err) < 0);
    error_done(&err);
    for (int i = 0; i < 6; i++) /* a long rest fills it, and no more */
        assert_int_equal(quota_take_run(&c, now + 9000 * S, &wait, &err), 0);
    assert_true(quota_take_run(&c, now + 9000 * S, &wait, &err) < 0);
    error_done(&err);
}

TEST(what_was_used_is_paid_before_anything_new)
{
    struct caller c = {0};
    struct error err = {0};
    unsigned wait = 0;
    uint64_t now = 1000 * S;

    rights_init(&c.rights);
    c.rights.cpu_s_per_hour = 3600;
    assert_int_equal(quota_take_run(&c, now, &wait, &err), 0);
    quota_spend(&c, now, 3700, 1e9);
    assert_true(quota_take_run(&c, now, &wait, &err) < 0);
    assert_error(&err, E_BUSY, "`cpu_s_per_hour`");
    assert_in_range(wait, 100, 102);
    assert_int_equal(quota_take_run(&c, now + 101 * S, &wait, &err), 0);
    c.rights.bytes_per_hour = 1024;
    quota_spend(&c, now + 200 * S, 0, 1024);
    assert_true(quota_take_run(&c, now + 200 * S, &wait, &err) < 0);
    assert_error(&err, E_BUSY, "`bytes_per_hour`");
}

TEST(what_is_used_is_told_for_each_allowance)
{
    struct caller c = {0};
    struct error err = {0};
    unsigned wait = 0;
    uint64_t now = 1000 * S;
    json_t *used;

    rights_init(&c.rights);
    c.rights.runs_per_minute = 6;
    assert_int_equal(quota_take_run(&c, now, &wait, &err), 0);
    assert_int_equal(quota_take_run(&c, now, &wait, &err), 0);
    used = quota_used(&c, now);
    assert_int_equal(json_object_size(used), 1);
    assert_true(json_real_value(json_object_get(used, "runs_per_minute")) > 1.99);
    json_decref(used);
    used = quota_used(&c, now + 10 * S);
    assert_true(json_real_value(json_object_get(used, "runs_per_minute")) < 1.01);
    json_decref(used);
}

UNIT_MAIN()
