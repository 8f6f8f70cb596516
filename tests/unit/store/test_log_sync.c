/* Those who wait for the disk share its syncs, and are told of failures. */
#include "own_store.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/loop.h"
#include "store/log_sync.h"

static struct loop *loop;
static struct log_sync *group;

struct waiter {
    struct group_sync_wait wait;
    int told, result;
    struct waiter *then; /* waits when this one is told */
};

static void on_done(void *user, int result)
{
    struct waiter *w = user;

    w->told++;
    w->result = result;
    if (w->then)
        log_sync_wait(group, &w->then->wait);
    else
        loop_stop(loop);
}

static struct waiter waiter(void)
{
    return (struct waiter){.wait = {.done = on_done}};
}

static int begin(void **state)
{
    if (set_up(state) < 0 || store_do(store, NULL, "SELECT 1", "") < 0)
        return -1;
    loop = loop_new(NULL);
    return loop ? log_sync_new(loop, path, &group, NULL) : -1;
}

static int end(void **state)
{
    log_sync_free(group);
    loop_free(loop);
    return tear_down(state);
}

TEST_WITH(all_are_told_once, begin, end)
{
    struct waiter last = waiter(), first = waiter(), second = waiter();

    first.wait.user = &first;
    second.wait.user = &second;
    last.wait.user = &last;
    first.then = &last;
    second.then = NULL;
    log_sync_wait(group, &first.wait);
    assert_int_equal(first.told, 0); /* the disk has not been asked yet */
    log_sync_wait(group, &second.wait);
    while (!first.told || !second.told || !last.told)
        assert_return_code(loop_run(loop, NULL), 0);
    assert_int_equal(first.told, 1);
    assert_int_equal(second.told, 1);
    assert_int_equal(last.told, 1);
    assert_int_equal(first.result | second.result | last.result, 0);
}

TEST_WITH(a_file_that_is_gone_is_a_failure, begin, end)
{
    struct waiter w = waiter();

    w.wait.user = &w;
    store_free(store);
    store = NULL;
    remove_files();
    log_sync_wait(group, &w.wait);
    assert_int_equal(w.told, 1);
    assert_true(w.result < 0);
}

UNIT_MAIN_WITH(NULL, remove_dir)
