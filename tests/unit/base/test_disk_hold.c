/* Bytes leave when what was written before them is on the disk, and not at all if the disk fails.
 */
#include "base/disk_hold.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/loop.h"
#include "unit.h"

static struct loop *loop;
static struct group_sync *group;
static struct disk_hold hold;
static bool is_failing;
static int n_free, n_lost;

static int open_file(void *user)
{
    (void)user;
    return is_failing ? -EIO : fcntl(fileno(tmpfile()), F_DUPFD_CLOEXEC, 3);
}

static void on_free(void *user)
{
    (void)user;
    n_free++;
    loop_stop(loop);
}

static void on_lost(void *user)
{
    (void)user;
    n_lost++;
}

static const struct disk_hold_events events = {on_free, on_lost};

static int begin(void **state)
{
    const struct group_sync_target target = {.open = open_file};

    (void)state;
    is_failing = false;
    n_free = n_lost = 0;
    loop = loop_new(NULL);
    if (!loop || group_sync_new(loop, &target, &group, NULL) < 0)
        return -1;
    disk_hold_init(&hold, group, &events, NULL);
    return 0;
}

static int end(void **state)
{
    (void)state;
    disk_hold_done(&hold);
    group_sync_free(group);
    loop_free(loop);
    return 0;
}

TEST_WITH(without_a_disk_nothing_is_held, begin, end)
{
    struct disk_hold none;

    disk_hold_init(&none, NULL, &events, NULL);
    assert_int_equal(disk_hold_ask(&none, 10), 10);
    disk_hold_left(&none, 10);
    disk_hold_done(&none);
}

TEST_WITH(bytes_leave_at_once_where_nothing_was_written, begin, end)
{
    assert_int_equal(disk_hold_ask(&hold, 10), 10);
}

TEST_WITH(bytes_wait_for_what_was_written_before_them, begin, end)
{
    group_sync_touch(group);
    assert_int_equal(disk_hold_ask(&hold, 10), 0);
    assert_return_code(loop_run(loop, NULL), 0);
    assert_int_equal(disk_hold_ask(&hold, 10), 10);
    assert_int_equal(n_free, 1);
}

TEST_WITH(what_comes_during_a_sync_waits_for_the_next, begin, end)
{
    group_sync_touch(group);
    assert_int_equal(disk_hold_ask(&hold, 10), 0);
    group_sync_touch(group);
    assert_int_equal(disk_hold_ask(&hold, 30), 0);
    assert_return_code(loop_run(loop, NULL), 0);
    assert_int_equal(disk_hold_ask(&hold, 30), 10);
    disk_hold_left(&hold, 10);
    assert_return_code(loop_run(loop, NULL), 0);
    assert_int_equal(disk_hold_ask(&hold, 20), 20);
}

TEST_WITH(an_emptied_queue_leaves_nothing_free, begin, end)
{
    group_sync_touch(group);
    assert_int_equal(disk_hold_ask(&hold, 10), 0);
    disk_hold_reset(&hold);
    group_sync_touch(group);
    assert_int_equal(disk_hold_ask(&hold, 10), 0);
    assert_return_code(loop_run(loop, NULL), 0);
    assert_int_equal(disk_hold_ask(&hold, 10), 0);
    assert_return_code(loop_run(loop, NULL), 0);
    assert_int_equal(disk_hold_ask(&hold, 10), 10);
}

TEST_WITH(released_bytes_leave_and_those_behind_them_wait, begin, end)
{
    group_sync_touch(group);
    disk_hold_release(&hold, 10);
    assert_int_equal(disk_hold_ask(&hold, 25), 10);
    disk_hold_left(&hold, 10);
    assert_return_code(loop_run(loop, NULL), 0);
    assert_int_equal(disk_hold_ask(&hold, 15), 15);
}

TEST_WITH(after_a_failure_the_queue_is_lost, begin, end)
{
    is_failing = true;
    group_sync_touch(group);
    assert_int_equal(disk_hold_ask(&hold, 10), 0);
    assert_int_equal(n_free, 1);
    assert_int_equal(disk_hold_ask(&hold, 10), 0);
    assert_int_equal(n_lost, 1);
    disk_hold_reset(&hold);
    assert_int_equal(disk_hold_ask(&hold, 20), 20); /* written since: that nothing goes on */
    assert_int_equal(n_lost, 1);
}

/* Its bytes were queued when the sync of another failed. */
TEST_WITH(a_failure_that_another_met_counts, begin, end)
{
    struct disk_hold other;

    disk_hold_init(&other, group, &events, NULL);
    is_failing = true;
    group_sync_touch(group);
    assert_int_equal(disk_hold_ask(&other, 10), 0);
    assert_int_equal(disk_hold_ask(&hold, 10), 0);
    assert_int_equal(n_lost, 1);
    disk_hold_done(&other);
}

TEST_WITH(whoever_has_gone_is_not_told, begin, end)
{
    struct disk_hold other;

    disk_hold_init(&other, group, &events, NULL);
    group_sync_touch(group);
    assert_int_equal(disk_hold_ask(&other, 10), 0);
    assert_int_equal(disk_hold_ask(&hold, 10), 0);
    disk_hold_done(&other);
    assert_return_code(loop_run(loop, NULL), 0);
    assert_int_equal(disk_hold_ask(&hold, 10), 10);
    assert_int_equal(n_free, 1);
}

UNIT_MAIN()
