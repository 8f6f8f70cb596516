#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/cleanup.h"
#include "sandbox/child.h"
#include "sandbox/grant.h"
#include "sandbox/mount.h"

static char
    base[64]; /* a directory of the test's own, not below /tmp itself, which is never granted */

static const char *at(const char *name)
{
    static char path[4][256];
    static unsigned turn;
    char *p = path[turn++ % 4];

    (void)snprintf(p, sizeof(path[0]), "%s/%s", base, name);
    return p;
}

static void make_file(const char *name, const char *text)
{
    cleanup_close int fd = open(at(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void need_root(void)
{
    if (geteuid() != 0) {
        print_message("# skipped: only root has idmapped mounts\n");
        skip();
    }
}

static int setup(void **state)
{
    struct statfs fs;
    /* Root's grants are idmapped mounts, which an overlay, as the root of a container is, does not
     * have. */
    bool is_overlay = statfs("/var/tmp", &fs) == 0 && fs.f_type == OVERLAYFS_SUPER_MAGIC;

    (void)state;
    (void)snprintf(base, sizeof(base), "%s/belljar-grant.XXXXXX", is_overlay ? "/tmp" : "/var/tmp");
    return mkdtemp(base) && chmod(base, 0755) == 0 && mkdir(at("d"), 0755) == 0 ? 0 : -1;
}

static int remove_tree(const char *path)
{
    char *const argv[] = {(char *)"rm", (char *)"-rf", (char *)path, NULL};
    pid_t pid = fork();

    if (pid == 0) {
        (void)execv("/bin/rm", argv);
        _exit(1);
    }
    return pid > 0 && waitpid(pid, NULL, 0) == pid ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    return remove_tree(base);
}

static void assert_refused(const char *path, enum error_code code)
{
    struct run_grant grant = {.fd = -1};
    struct error err = {0};

    if (grant_open(path, RUN_GRANT_RO, &grant, &err) == 0)
        fail_msg("%s was granted", path);
    assert_non_null(err.hint);
    assert_int_equal(grant.fd, -1);
    assert_error(&err, code, path[0] == '/' && path[1] ? path : "");
}

TEST_WITH(places_of_the_system_are_not_granted, setup, teardown)
{
    assert_refused("/", E_DENIED);
    assert_refused("/proc", E_DENIED);
    assert_refused("/proc/1", E_DENIED);
    assert_refused("/sys", E_DENIED);
    assert_refused("/dev", E_DENIED);
    assert_refused("/run", E_DENIED);
    assert_refused("/etc", E_DENIED);
    assert_refused("/usr", E_DENIED);
    assert_refused("/tmp", E_DENIED);
}

/* The name is no way around: what counts is where it leads. */
TEST_WITH(links_and_dots_do_not_hide_a_place, setup, teardown)
{
    struct run_grant grant;
    struct error err = {0};

    assert_int_equal(symlink("/proc", at("proc")), 0);
    assert_int_equal(symlink("/", at("root")), 0);
    assert_true(grant_open(at("proc"), RUN_GRANT_RO, &grant, &err) < 0);
    assert_error(&err, E_DENIED, "/proc");
    assert_true(grant_open(at("root"), RUN_GRANT_RO, &grant, &err) < 0);
    assert_error(&err, E_DENIED, "");
    assert_true(grant_open("/usr/../proc/self/..", RUN_GRANT_RO, &grant, &err) < 0);
    assert_error(&err, E_DENIED, "/proc");
    assert_true(grant_open("/proc/self/root", RUN_GRANT_RO, &grant, &err) < 0);
    error_done(&err);
}

TEST_WITH(files_and_missing_ones_are_not_granted, setup, teardown)
{
    make_file("file", "x");
    assert_refused(at("file"), E_INVALID);
    assert_refused(at("missing"), E_NOT_FOUND);
    assert_refused("", E_NOT_FOUND);
    assert_int_equal(symlink("nowhere", at("dangling")), 0);
    assert_refused(at("dangling"), E_NOT_FOUND);
    assert_int_equal(symlink("circle", at("circle")), 0);
    assert_refused(at("circle"), E_INVALID);
}

TEST_WITH(a_directory_is_opened_by_its_path, setup, teardown)
{
    struct run_grant grant;
    struct error err = {0};
    struct stat a, b;

    assert_int_equal(grant_open(at("d"), RUN_GRANT_RW, &grant, &err), 0);
    assert_string_equal(grant.path, at("d"));
    assert_int_equal(grant.mode, RUN_GRANT_RW);
    assert_int_equal(fstat(grant.fd, &a), 0);
    assert_int_equal(stat(at("d"), &b), 0);
    assert_true(a.st_ino == b.st_ino && a.st_dev == b.st_dev);
    assert_int_equal(fcntl(grant.fd, F_GETFD), FD_CLOEXEC);
    grant_done(&grant);
    assert_int_equal(grant.fd, -1);
    grant_done(&grant);
}

TEST_WITH(a_link_is_not_followed, setup, teardown)
{
    struct run_grant grant = {.fd = -1};
    struct error err = {0};

    assert_int_equal(symlink("d", at("link")), 0);
    assert_int_equal(grant_open(at("link"), RUN_GRANT_RO, &grant, &err), -1);
    assert_error(&err, E_DENIED, at("d")); /* where it leads */
    assert_int_equal(mkdir(at("d/inner"), 0700), 0);
    assert_int_equal(grant_open(at("link/inner"), RUN_GRANT_RO, &grant, &err), -1);
    assert_error(&err, E_DENIED, "symbolic link");
    assert_null(grant_real_path(at("link/inner")));
    assert_int_equal(grant.fd, -1);
}

/* --- mounts; in a child with namespaces of its own --- */

static int write_through_a_grant(const void *user)
{
    const struct run_grant *grant = user;
    struct error err = {0};
    int mount_fd = -1, writable = -1, fd;

    if (grant_mount(grant, 1, 123456, 123457, &mount_fd, &writable, &err) < 0) {
        dprintf(2, "# %s\n", err.message);
        return CHILD_BROKEN;
    }
    child_need(unshare(CLONE_NEWNS) == 0);
    child_need(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
    child_need(mkdir(at("m"), 0755) == 0 || errno == EEXIST);
    child_need(mount_attach(writable >= 0 ? writable : mount_fd, at("m"), &err) == 0);
    child_need(syscall(SYS_setresgid, 123457, 123457, 123457) == 0);
    child_need(syscall(SYS_setresuid, 123456, 123456, 123456) == 0);
    fd = open(at("m/new"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    return fd >= 0 ? 0 : errno;
}

TEST_WITH(what_is_written_belongs_to_the_owner_of_the_directory, setup, teardown)
{
    struct run_grant grant;
    struct error err = {0};
    struct stat st;

    need_root();
    assert_int_equal(chown(at("d"), 4321, 4322), 0);
    assert_int_equal(grant_open(at("d"), RUN_GRANT_RW, &grant, &err), 0);
    assert_int_equal(in_child(write_through_a_grant, &grant), 0);
    assert_int_equal(stat(at("d/new"), &st), 0);
    assert_int_equal(st.st_uid, 4321);
    assert_int_equal(st.st_gid, 4322);
    grant_done(&grant);
}

TEST_WITH(a_sandbox_has_no_writable_mount, setup, teardown)
{
    struct run_grant grant;
    struct error err = {0};
    int mounts[1] = {-1}, writable[1] = {-1};

    need_root();
    assert_int_equal(chmod(at("d"), 0777), 0);
    assert_int_equal(grant_open(at("d"), RUN_GRANT_RW, &grant, &err), 0);
    assert_int_equal(grant_mount(&grant, 1, 123456, 123457, mounts, writable, &err), 0);
    assert_true(openat(mounts[0], "new", O_WRONLY | O_CREAT | O_CLOEXEC, 0644) < 0 &&
                errno == EROFS);
    (void)close(mounts[0]);
    (void)close(writable[0]);
    grant_done(&grant);
}

TEST_WITH(a_directory_granted_for_reading_is_not_written, setup, teardown)
{
    struct run_grant grant;
    struct error err = {0};

    need_root();
    assert_int_equal(chmod(at("d"), 0777), 0);
    assert_int_equal(grant_open(at("d"), RUN_GRANT_RO, &grant, &err), 0);
    assert_int_equal(in_child(write_through_a_grant, &grant), EROFS);
    assert_int_equal(access(at("d/new"), F_OK), -1);
    grant_done(&grant);
}

static int mount_as_nobody(const void *user)
{
    const struct run_grant *grant = user;
    struct error err = {0};
    int mounts[2] = {-1, -1}, writable = -1;

    become_nobody();
    child_need(prctl(PR_SET_DUMPABLE, 1) == 0); /* as one who was never anybody else */
    if (grant_mount(grant, 1, 0, 0, mounts, &writable, &err) < 0)
        return 1;
    return mounts[0] >= 0 && mounts[1] < 0 && writable >= 0 ? 0 : 2;
}

TEST_WITH(an_ordinary_user_gets_mounts_too, setup, teardown)
{
    struct run_grant grant;
    struct error err = {0};

    assert_int_equal(grant_open(at("d"), RUN_GRANT_RW, &grant, &err), 0);
    assert_int_equal(in_child(mount_as_nobody, &grant), 0);
    grant_done(&grant);
}

/* Another directory has taken its name since it was opened. */
TEST_WITH(a_directory_that_was_exchanged_is_not_mounted, setup, teardown)
{
    struct run_grant grant;
    struct error err = {0};

    assert_int_equal(grant_open(at("d"), RUN_GRANT_RW, &grant, &err), 0);
    assert_int_equal(rename(at("d"), at("away")), 0);
    assert_int_equal(mkdir(at("d"), 0755), 0);
    assert_int_equal(in_child(mount_as_nobody, &grant), 1);
    grant_done(&grant);
}

/* No helper, no namespace, no descriptor: it happens for every sandbox an ordinary user makes. */
static int mount_nothing(const void *unused)
{
    struct error err = {0};

    (void)unused;
    become_nobody();
    deny_call(SYS_clone3, EPERM);
    return grant_mount(NULL, 0, 0, 0, NULL, NULL, &err) == 0 ? 0 : 1;
}

TEST_WITH(no_grants_cost_nothing, setup, teardown)
{
    assert_int_equal(in_child(mount_nothing, NULL), 0);
}

UNIT_MAIN()
