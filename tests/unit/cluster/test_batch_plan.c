#include "unit.h"

#include "cluster/batch_plan.h"

static struct batch_plan plan;

static void expect(uint16_t owner, size_t wanted, const char *runs)
{
    char text[64];

    (void)batch_plan_give(&plan, owner, wanted, text, sizeof(text));
    assert_string_equal(text, runs);
}

TEST(each_run_is_given_to_one_and_answered_once)
{
    batch_plan_init(&plan, 10);
    expect(0, 4, "0-3");
    expect(1, 3, "4-6");
    assert_int_equal(plan.n_waiting, 3);
    assert_false(batch_plan_answer(&plan, 0, 4)); /* another's */
    assert_false(batch_plan_answer(&plan, 0, 7)); /* nobody's */
    assert_false(batch_plan_answer(&plan, 0, 10));
    assert_false(batch_plan_answer(&plan, 0, SIZE_MAX));
    assert_true(batch_plan_answer(&plan, 0, 2));
    assert_false(batch_plan_answer(&plan, 0, 2));
    expect(0, 100, "7-9");
    expect(1, 100, "");
    assert_int_equal(plan.n_answered, 1);
}

TEST(what_a_lost_node_has_not_answered_goes_to_another)
{
    batch_plan_init(&plan, 6);
    expect(0, 6, "0-5");
    assert_true(batch_plan_answer(&plan, 0, 1));
    assert_true(batch_plan_answer(&plan, 0, 3));
    batch_plan_lose(&plan, 0);
    assert_int_equal(plan.n_waiting, 4);
    assert_false(batch_plan_answer(&plan, 0, 0)); /* it says so too late */
    expect(1, 3, "0,2,4");
    expect(2, 3, "5");
    assert_true(batch_plan_answer(&plan, 1, 0));
}

TEST(a_run_that_loses_its_nodes_is_given_up)
{
    size_t run;

    batch_plan_init(&plan, 2);
    for (uint16_t owner = 0; owner < BATCH_TRIES_MAX; owner++) {
        assert_false(batch_plan_give_up(&plan, false, &run));
        expect(owner, 1, "0");
        batch_plan_lose(&plan, owner);
    }
    expect(9, 2, "1");
    assert_true(batch_plan_give_up(&plan, false, &run));
    assert_int_equal(run, 0);
    assert_int_equal(plan.n_answered, 1);
    assert_false(batch_plan_give_up(&plan, false, &run));
    batch_plan_lose(&plan, 9);
    assert_true(batch_plan_give_up(&plan, true, &run));
    assert_int_equal(run, 1);
    assert_int_equal(plan.n_answered, 2);
    assert_int_equal(plan.n_waiting, 0);
}

TEST(a_share_is_no_longer_than_its_text)
{
    char text[24];
    size_t given;

    batch_plan_init(&plan, 1000);
    for (size_t run = 0; run < 1000; run += 2) { /* every second one is left */
        plan.runs[run].state = BATCH_ANSWERED;
        plan.n_waiting--;
    }
    given = batch_plan_give(&plan, 0, 1000, text, sizeof(text));
    assert_string_equal(text, "1,3,5,7,9,11,13");
    assert_int_equal(given, 7);
    assert_int_equal(plan.n_waiting, 493);
}

UNIT_MAIN()
