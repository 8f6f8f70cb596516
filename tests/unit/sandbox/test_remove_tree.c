#include "sandbox/remove_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

#define DEPTH 3000

static char place[] = "/tmp/test-remove-XXXXXX";

static void make_place(void)
{
    (void)snprintf(place, sizeof(place), "/tmp/test-remove-XXXXXX");
    assert_non_null(mkdtemp(place));
}

static void assert_gone(void)
{
    assert_int_equal(remove_tree(AT_FDCWD, place), 0);
    assert_int_equal(access(place, F_OK), -1);
    assert_int_equal(errno, ENOENT);
}

TEST(depth_modes_and_odd_names_are_no_obstacle)
{
    int dir;

    make_place();
    dir = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < DEPTH; i++) {
        int next;

        assert_int_equal(mkdirat(dir, "removed-1", 0700), 0);
        assert_int_equal(mkfifoat(dir, "fifo", 0), 0);
        next = openat(dir, "removed-1", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(next >= 0);
        close(dir);
        dir = next;
    }
    assert_int_equal(mkdirat(dir, "\xff\n", 0), 0);
    assert_int_equal(fchmod(dir, 0), 0);
    close(dir);
    assert_gone();
}

TEST(links_are_removed_and_not_followed)
{
    char other[] = "/tmp/test-kept-XXXXXX";
    int dir;

    make_place();
    assert_non_null(mkdtemp(other));
    dir = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(symlinkat(other, dir, "link"), 0);
    assert_int_equal(mkdirat(dir, "sub", 0700), 0);
    assert_int_equal(symlinkat(other, dir, "sub/link"), 0);
    close(dir);
    assert_gone();
    assert_int_equal(rmdir(other), 0);
}

TEST(nothing_is_nothing_to_remove)
{
    make_place();
    assert_gone();
    assert_int_equal(remove_tree(AT_FDCWD, place), 0);
}

UNIT_MAIN()
