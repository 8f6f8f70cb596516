/* Locks on trees of directories: the same and nested ones exclude each other, others do not. */
#include "unit.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sandbox/tree_lock.h"

static struct tree_lock lock_on(const char *path)
{
    int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct tree_lock lock;

    assert_true(root >= 0);
    assert_int_equal(tree_lock_open("lock", &root, 1, &lock, NULL), 0);
    (void)close(root);
    return lock;
}

/* Whether somebody else's bytes are in the way, without waiting for them. */
static bool would_wait(const struct tree_lock *l)
{
    for (size_t i = 0; i < l->n_keys; i++) {
        struct flock range = {.l_type = l->keys[i].is_root ? F_WRLCK : F_RDLCK,
                              .l_whence = SEEK_SET,
                              .l_start = (off_t)l->keys[i].at,
                              .l_len = 2};

        assert_int_equal(fcntl(l->fd, F_OFD_GETLK, &range), 0);
        if (range.l_type != F_UNLCK)
            return true;
    }
    return false;
}

static bool excludes(const char *held, const char *wanted)
{
    struct tree_lock a = lock_on(held), b = lock_on(wanted);
    bool r;

    assert_int_equal(tree_lock_take(&a), 0);
    r = would_wait(&b);
    tree_lock_release(&a);
    assert_false(would_wait(&b));
    assert_int_equal(tree_lock_take(&b), 0);
    tree_lock_close(&a);
    tree_lock_close(&b);
    return r;
}

TEST(related_trees_exclude_each_other)
{
    static const struct {
        const char *a, *b;
        bool expected;
    } cases[] = {
        {"t/a", "t/a", true},  {"t", "t/a/x", true},    {"t/a", "t/a/x", true},
        {"t/a", "t/b", false}, {"t/a/x", "t/b", false}, {"t/a/x", "t/a/y", false},
        {"/", "t/b", true},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        assert_int_equal(excludes(cases[i].a, cases[i].b), cases[i].expected);
        assert_int_equal(excludes(cases[i].b, cases[i].a), cases[i].expected);
    }
    /* By another path. */
    assert_int_equal(symlink("t/a", "link"), 0);
    assert_true(excludes("link/", "t/a/x"));
}

/* Those that lock a directory in common for a moment each cannot keep its owner waiting. */
TEST(a_waiting_owner_comes_before_later_ones)
{
    struct tree_lock below = lock_on("t/a/x"), beside = lock_on("t/b");
    pid_t owner;
    int status;

    assert_int_equal(tree_lock_take(&below), 0);
    owner = fork();
    if (owner == 0) {
        struct tree_lock all = lock_on("t");

        _exit(tree_lock_take(&all) < 0);
    }
    while (!would_wait(&beside))
        (void)usleep(1000);
    tree_lock_release(&below);
    assert_int_equal(waitpid(owner, &status, 0), owner);
    assert_int_equal(status, 0);
    assert_false(would_wait(&beside));
    tree_lock_close(&below);
    tree_lock_close(&beside);
}

static bool is_marked(const struct tree_lock *l, const char *path)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return tree_lock_is_marked(l, &st);
}

TEST(directories_above_others_are_marked)
{
    struct tree_lock all = lock_on("t"), inner = lock_on("t/a/x");

    assert_true(is_marked(&all, "t/a"));
    assert_true(is_marked(&all, "t/a/x"));
    assert_false(is_marked(&all, "t/a/y"));
    assert_false(is_marked(&all, "t/b"));
    tree_lock_release(&inner);
    assert_true(is_marked(&all, "t/a"));
    tree_lock_close(&inner);
    assert_false(is_marked(&all, "t/a"));
    tree_lock_close(&all);
}

static const char *const names[] = {"t", "t/a", "t/a/x", "t/a/y", "t/b"};
static char folder[] = "/tmp/belljar-tree-lock-XXXXXX";

static int make_trees(void **state)
{
    (void)state;
    if (!mkdtemp(folder) || chdir(folder) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (mkdir(names[i], 0755) < 0)
            return -1;
    return 0;
}

static int remove_trees(void **state)
{
    static const char *const files[] = {"lock", "lock.marks", "link"};

    (void)state;
    for (size_t i = ARRAY_SIZE(names); i > 0; i--)
        (void)rmdir(names[i - 1]);
    for (size_t i = 0; i < ARRAY_SIZE(files); i++)
        (void)unlink(files[i]);
    return rmdir(folder);
}

UNIT_MAIN_WITH(make_trees, remove_trees)
