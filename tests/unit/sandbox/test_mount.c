/* In a child with a user and a mount namespace of its own, whoever runs the tests. */
#include "unit.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "sandbox/child.h"
#include "sandbox/mount.h"

#define check(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            dprintf(2, "# line %d: %s: %s\n", __LINE__, #condition, strerror(errno));              \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

/* A tmpfs at /mnt to play in, invisible to everybody else. */
static void enter(void)
{
    unsigned uid = geteuid(), gid = getegid();

    child_need(unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0);
    child_need(file_write(AT_FDCWD, "/proc/self/setgroups", "deny") == 0);
    child_need(file_printf(AT_FDCWD, "/proc/self/uid_map", "0 %u 1", uid) == 0);
    child_need(file_printf(AT_FDCWD, "/proc/self/gid_map", "0 %u 1", gid) == 0);
    child_need(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
    child_need(mount("t", "/mnt", "tmpfs", 0, NULL) == 0);
    child_need(chdir("/mnt") == 0);
}

static int create(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

    if (fd >= 0)
        (void)close(fd);
    return fd >= 0 ? 0 : -errno;
}

#define IN_CHILD(name)                                                                             \
    static int name##_(const void *unused);                                                        \
    TEST(name)                                                                                     \
    {                                                                                              \
        assert_int_equal(in_child(name##_, NULL), 0);                                              \
    }                                                                                              \
    static int name##_(const void *unused __attribute__((unused)))

IN_CHILD(a_bind_shows_a_tree_with_its_mounts_and_nothing_in_it_can_be_written)
{
    struct error err = {0};

    enter();
    child_need(mkdir("a", 0755) == 0 && mkdir("a/below", 0755) == 0 && mkdir("b", 0755) == 0);
    child_need(mount("t", "a/below", "tmpfs", 0, NULL) == 0 && create("a/below/x") == 0);
    check(mount_bind("/mnt/a", "/mnt/b", MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID, &err) == 0);
    check(access("b/below/x", F_OK) == 0);
    check(create("b/new") == -EROFS);
    check(create("b/below/new") == -EROFS);
    check(create("a/new") == 0); /* the tree itself is as it was */
    return 0;
}

IN_CHILD(a_clone_without_what_is_mounted_below_does_not_show_it)
{
    struct error err = {0};
    cleanup_close int fd = -1;

    enter();
    child_need(mkdir("a", 0755) == 0 && mkdir("a/below", 0755) == 0 && mkdir("b", 0755) == 0);
    child_need(create("a/below/under") == 0);
    child_need(mount("t", "a/below", "tmpfs", 0, NULL) == 0 && create("a/below/x") == 0);
    /* Linux refuses to show what a mount hides if somebody with more rights made it; here it is our
     * own. */
    check(mount_clone(AT_FDCWD, "/mnt/a", MOUNT_ATTR_RDONLY, false, &fd, &err) == 0);
    check(mount_attach(fd, "/mnt/b", &err) == 0);
    check(access("b/below/x", F_OK) < 0);
    check(access("b/below/under", F_OK) == 0);
    return 0;
}

IN_CHILD(attributes_are_only_ever_added)
{
    struct error err = {0};

    enter();
    child_need(mkdir("a", 0755) == 0 && mkdir("b", 0755) == 0);
    check(mount_bind("/mnt/a", "/mnt/b", MOUNT_ATTR_RDONLY, &err) == 0);
    check(mount_set_attrs(AT_FDCWD, "/mnt/b", MOUNT_ATTR_NOEXEC, false, &err) == 0);
    check(create("b/new") == -EROFS);
    return 0;
}

IN_CHILD(directories_are_made_all_the_way_and_again)
{
    struct error err = {0};
    char longer[5000];

    enter();
    check(mount_make_dirs("/mnt/a/b/c", &err) == 0);
    check(mount_make_dirs("/mnt/a/b/c", &err) == 0);
    check(mount_make_dirs("x/y", &err) == 0 && access("/mnt/x/y", F_OK) == 0);
    check(create("file") == 0);
    check(mount_make_dirs("/mnt/file/below", &err) < 0 && err.errnum == ENOTDIR);
    error_done(&err);
    memset(longer, 'a', sizeof(longer));
    longer[sizeof(longer) - 1] = '\0';
    check(mount_make_dirs(longer, &err) < 0 && err.code == E_INVALID);
    error_done(&err);
    return 0;
}

IN_CHILD(a_directory_in_a_read_only_tree_is_found_and_not_made)
{
    struct error err = {0};

    enter();
    check(mount_make_dirs("/mnt/a/b", &err) == 0 && mkdir("/mnt/m", 0755) == 0);
    check(mount_bind("/mnt/a", "/mnt/m", MOUNT_ATTR_RDONLY, &err) == 0);
    check(mount_make_dirs("/mnt/m/b", &err) == 0);
    check(mount_make_dirs("/mnt/m/c", &err) < 0 && err.errnum == EROFS);
    error_done(&err);
    return 0;
}

IN_CHILD(a_point_to_mount_on_is_like_its_model)
{
    struct error err = {0};
    struct stat st;

    enter();
    check(mount_make_point("dir", true, &err) == 0 && stat("dir", &st) == 0 && S_ISDIR(st.st_mode));
    check(mount_make_point("file", false, &err) == 0 && stat("file", &st) == 0 &&
          S_ISREG(st.st_mode));
    check(mount_make_point("no/file", false, &err) < 0);
    error_done(&err);
    return 0;
}

IN_CHILD(the_old_root_is_gone_after_the_pivot)
{
    struct error err = {0};
    char cwd[64], mounts[4096];

    enter();
    child_need(mkdir("proc", 0755) == 0);
    child_need(mount_bind("/proc", "/mnt/proc", 0, &err) == 0);
    check(mount_pivot("/mnt", &err) == 0);
    check(getcwd(cwd, sizeof(cwd)) && strcmp(cwd, "/") == 0);
    check(access("/usr", F_OK) < 0 && access("/../usr", F_OK) < 0 && access("/mnt", F_OK) < 0);
    check(file_read(AT_FDCWD, "/proc/self/mounts", mounts, sizeof(mounts)) > 0);
    check(strncmp(mounts, "t / tmpfs", 9) == 0);
    return 0;
}

IN_CHILD(what_is_no_mount_does_not_become_the_root)
{
    struct error err = {0};

    enter();
    child_need(mkdir("a", 0755) == 0);
    check(mount_pivot("/mnt/a", &err) < 0 && err.errnum == EINVAL);
    check(access("/usr", F_OK) == 0);
    error_done(&err);
    check(mount_pivot("/mnt/missing", &err) < 0 && err.errnum == ENOENT);
    error_done(&err);
    return 0;
}

UNIT_MAIN()
