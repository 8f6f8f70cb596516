#include "unit.h"

#include "api/batch_part.h"
#include "base/cleanup.h"

#define COUNT 10

static int read_part(const char *text, char *ret_runs, struct batch_part *part)
{
    cleanup_error struct error err = {0};
    bool is_in[COUNT] = {false};
    int r = batch_part_read((struct span){text, strlen(text)}, COUNT, is_in, part, &err);

    for (size_t i = 0; i < COUNT; i++)
        ret_runs[i] = is_in[i] ? 'x' : '.';
    ret_runs[COUNT] = '\0';
    assert_int_equal(r < 0 ? err.code : E_NONE, r < 0 ? E_INVALID : E_NONE);
    return r;
}

TEST(a_share_is_some_of_the_runs)
{
    struct batch_part part;
    char runs[COUNT + 1];

    assert_int_equal(read_part("0-2,5,9", runs, &part), 0);
    assert_string_equal(runs, "xxx..x...x");
    assert_int_equal(part.total, 5);
    assert_int_equal(part.at_once, 0);
    assert_false(part.is_checked);
    assert_int_equal(read_part("7;at_once=3;checked", runs, &part), 0);
    assert_string_equal(runs, ".......x..");
    assert_int_equal(part.at_once, 3);
    assert_true(part.is_checked);
    assert_int_equal(read_part("0-9;checked", runs, &part), 0);
    assert_int_equal(part.total, COUNT);
    assert_true(part.is_checked);
}

TEST(a_run_that_is_not_there_or_there_twice_is_refused)
{
    static const char *const wrong[] = {"",
                                        "-",
                                        "10",
                                        "0-10",
                                        "5-4",
                                        "3,3",
                                        "0-4,4",
                                        "0,",
                                        ",0",
                                        "0 ",
                                        "a",
                                        "1-",
                                        "0;",
                                        "0;checke",
                                        "0;at_once=0",
                                        "0;at_once=",
                                        "0;checked;at_once=1",
                                        "-1",
                                        "1234567",
                                        "0,9999999",
                                        "0-",
                                        "0--1",
                                        "0;checkedx",
                                        "0x1"};
    struct batch_part part;
    char runs[COUNT + 1];

    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        if (read_part(wrong[i], runs, &part) == 0)
            fail_msg("`%s` was taken", wrong[i]);
}

UNIT_MAIN()
