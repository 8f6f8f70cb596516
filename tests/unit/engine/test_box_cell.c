#include "unit.h"

#include "engine/box_cell.h"

static struct box_cell cell_in(const enum cell_state *path, size_t len)
{
    struct box_cell cell = BOX_CELL_INIT;

    for (size_t i = 0; i < len; i++)
        assert_true(cell_enter(&cell, path[i]));
    return cell;
}

#define CELL_IN(...)                                                                               \
    cell_in((const enum cell_state[]){__VA_ARGS__},                                                \
            sizeof((const enum cell_state[]){__VA_ARGS__}) / sizeof(enum cell_state))

TEST(the_table_permits_these_changes_and_no_others)
{
    static const char *const permitted[CELL_STATES] = {
        /* clang-format off */
        /* in the order of the enum:  N W S S K C D E A */
        [CELL_NONE] =                ". x . . . . . . .",
        [CELL_WAITING] =             ". . x x x . x x x",
        [CELL_SENT] =                ". . . x x . x x x",
        [CELL_STOPPING] =            ". . . . x . x x x",
        [CELL_KILLED] =              ". . . . . x . x x",
        [CELL_CLEARED] =             ". . . . . . . x x",
        [CELL_DONE] =                ". . . . x . . x x",
        [CELL_EXITED] =              ". . . . . . x . x",
        [CELL_ANSWERING] =           "x . . . . . . . .",
        /* clang-format on */
    };

    for (int from = 0; from < CELL_STATES; from++) {
        const char *c = permitted[from];

        for (int to = 0; to < CELL_STATES; to++, c++) {
            while (*c == ' ')
                c++;
            if (cell_may_enter(from, to) != (*c == 'x'))
                fail_msg("%s to %s", cell_state_name(from), cell_state_name(to));
        }
    }
}

TEST(a_change_that_is_not_permitted_changes_nothing)
{
    struct box_cell cell = CELL_IN(CELL_KILLED);

    assert_false(cell_enter(&cell, CELL_SENT));
    assert_int_equal(cell.state, CELL_KILLED);
    assert_false(cell_has_been(&cell, CELL_SENT));
    assert_true(cell_enter(&cell, CELL_KILLED)); /* it is there already */
}

TEST(every_state_but_none_can_be_answered)
{
    for (int from = CELL_WAITING; from < CELL_ANSWERING; from++)
        assert_true(cell_may_enter(from, CELL_ANSWERING));
    assert_false(cell_may_enter(CELL_NONE, CELL_ANSWERING));
}

TEST(a_kernel_that_was_killed_does_not_say_it_is_done)
{
    struct box_cell done = CELL_IN(CELL_SENT, CELL_DONE);
    struct box_cell liar = CELL_IN(CELL_SENT, CELL_DONE, CELL_KILLED);
    struct box_cell late = CELL_IN(CELL_SENT, CELL_KILLED, CELL_EXITED, CELL_ANSWERING);

    assert_true(cell_is_done(&done));
    assert_false(cell_is_done(&liar));
    assert_true(cell_enter(&late, CELL_DONE));
    assert_false(cell_is_done(&late));
}

TEST(a_late_word_counts_for_the_result_and_not_for_the_state)
{
    struct box_cell cell = CELL_IN(CELL_SENT, CELL_EXITED, CELL_ANSWERING);

    assert_false(cell_is_done(&cell));
    assert_true(cell_enter(&cell, CELL_DONE));
    assert_true(cell_is_done(&cell));
    assert_int_equal(cell.state, CELL_ANSWERING);
    assert_false(cell_enter(&cell, CELL_SENT));
}

TEST(a_new_cell_has_nothing_of_the_one_before)
{
    struct box_cell cell = CELL_IN(CELL_SENT, CELL_STOPPING, CELL_KILLED, CELL_CLEARED);

    cell.verdict = BOX_MEMORY;
    cell.is_retried = cell.is_refused = true;
    cell = BOX_CELL_INIT;
    assert_int_equal(cell.state, CELL_WAITING);
    assert_int_equal(cell.verdict, BOX_NO_VERDICT);
    assert_false(cell.is_retried || cell.is_refused || cell_has_been(&cell, CELL_KILLED));
}

UNIT_MAIN()
