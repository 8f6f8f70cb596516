#include "sandbox/landlock.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "child.h"

#define ABI_REFER    2
#define ABI_TRUNCATE 3
#define ABI_IOCTL    5
#define ABI_SCOPES   6

/* A fresh tree: in/ (with file, tool, sub/), out/file, bare. */
static char tree[] = "/tmp/test-landlock-XXXXXX";

static const char *at(const char *name)
{
    static char paths[8][128];
    static unsigned next;
    char *path = paths[next++ % 8];

    (void)snprintf(path, sizeof(paths[0]), "%s/%s", tree, name);
    return path;
}

static void put(const char *name, const char *text, mode_t mode)
{
    int fd = open(at(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static int make_tree(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(tree));
    assert_int_equal(chmod(tree, 0777), 0);
    for (const char **name = (const char *[]){"in", "in/sub", "out", NULL}; *name; name++) {
        assert_int_equal(mkdir(at(*name), 0777), 0);
        assert_int_equal(chmod(at(*name), 0777), 0);
    }
    put("in/file", "inside", 0666);
    put("in/tool", "#!/bin/sh\nexit 7\n", 0777);
    put("out/file", "outside", 0666);
    put("bare", "alone", 0666);
    return 0;
}

static int remove_tree(void **state)
{
    (void)state;
    for (const char **name = (const char *[]){"in/sub/moved", "in/made", "in/link", "in/file",
                                              "in/tool", "out/file", "bare", NULL};
         *name; name++)
        (void)unlink(at(*name));
    (void)rmdir(at("in/sub"));
    (void)rmdir(at("in"));
    (void)rmdir(at("out"));
    return rmdir(tree);
}

static void need_abi(int abi)
{
    if (landlock_abi() < abi) {
        print_message("# skipped: needs Landlock ABI %d, this kernel has %d\n", abi,
                      landlock_abi());
        skip();
    }
}

/* --- one restricted child: what is granted, and what it then tries --- */

struct attempt {
    enum landlock_access access;
    const char *granted; /* below the tree */
    int (*run)(void);    /* 0 or errno */
};

static int restrict_and_try(const void *user)
{
    const struct attempt *attempt = user;
    struct error err = {0};
    struct landlock_path paths[] = {
        {at(attempt->granted), attempt->access},
        {at("not/there"), LANDLOCK_READ},
        {"/usr", LANDLOCK_READ_EXEC},
        {"/lib", LANDLOCK_READ_EXEC},
        {"/lib64", LANDLOCK_READ_EXEC},
        {"/bin", LANDLOCK_READ_EXEC},
    };

    child_need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    if (landlock_restrict(paths, sizeof(paths) / sizeof(paths[0]), &err) < 0) {
        dprintf(2, "# %s\n", err.message);
        return CHILD_BROKEN;
    }
    return attempt->run();
}

static int try_with(enum landlock_access access, const char *granted, int (*run)(void))
{
    struct attempt attempt = {access, granted, run};

    return in_child(restrict_and_try, &attempt);
}

static int open_as(const char *name, int flags)
{
    int fd = open(at(name), flags | O_CLOEXEC, 0600);

    return fd < 0 ? errno : 0;
}

static int read_inside(void)
{
    return open_as("in/file", O_RDONLY);
}

static int list_inside(void)
{
    return open_as("in", O_RDONLY | O_DIRECTORY);
}

static int read_outside(void)
{
    return open_as("out/file", O_RDONLY);
}

static int write_inside(void)
{
    return open_as("in/file", O_WRONLY);
}

static int make_inside(void)
{
    return open_as("in/made", O_WRONLY | O_CREAT);
}

static int make_outside(void)
{
    return open_as("out/made", O_WRONLY | O_CREAT);
}

static int truncate_inside(void)
{
    return truncate(at("in/file"), 0) < 0 ? errno : 0;
}

static int read_bare(void)
{
    return open_as("bare", O_RDONLY);
}

static int write_bare(void)
{
    return open_as("bare", O_WRONLY);
}

static int run_tool(void)
{
    execl(at("in/tool"), "tool", NULL);
    return errno;
}

static int move_to_sub(void)
{
    return rename(at("in/file"), at("in/sub/moved")) < 0 ? errno : 0;
}

static int link_out(void)
{
    return link(at("in/file"), at("out/made")) < 0 ? errno : 0;
}

static int follow_link_out(void)
{
    if (symlink(at("out/file"), at("in/link")) < 0)
        return CHILD_BROKEN;
    return open_as("in/link", O_RDONLY);
}

TEST(what_is_granted_to_read_can_be_read)
{
    need_abi(1);
    assert_int_equal(try_with(LANDLOCK_READ, "in", read_inside), 0);
    assert_int_equal(try_with(LANDLOCK_READ, "in", list_inside), 0);
}

TEST(what_is_not_granted_cannot_be_read)
{
    need_abi(1);
    assert_int_equal(try_with(LANDLOCK_READ, "in", read_outside), EACCES);
    assert_int_equal(try_with(LANDLOCK_READ, "in", read_bare), EACCES);
}

TEST(reading_is_not_writing)
{
    need_abi(ABI_TRUNCATE);
    assert_int_equal(try_with(LANDLOCK_READ, "in", write_inside), EACCES);
    assert_int_equal(try_with(LANDLOCK_READ, "in", make_inside), EACCES);
    assert_int_equal(try_with(LANDLOCK_READ_EXEC, "in", truncate_inside), EACCES);
}

TEST(writing_stays_inside)
{
    need_abi(ABI_REFER);
    assert_int_equal(try_with(LANDLOCK_WRITE, "in", write_inside), 0);
    assert_int_equal(try_with(LANDLOCK_WRITE, "in", make_inside), 0);
    assert_int_equal(try_with(LANDLOCK_WRITE, "in", make_outside), EACCES);
    assert_int_not_equal(try_with(LANDLOCK_WRITE, "in", link_out), 0);
    assert_int_equal(try_with(LANDLOCK_WRITE, "in", follow_link_out), EACCES);
}

TEST(files_move_between_granted_directories)
{
    need_abi(ABI_REFER);
    assert_int_equal(try_with(LANDLOCK_WRITE, "in", move_to_sub), 0);
    assert_int_equal(rename(at("in/sub/moved"), at("in/file")), 0);
}

TEST(execution_is_a_right_of_its_own)
{
    need_abi(1);
    assert_int_equal(try_with(LANDLOCK_READ, "in", run_tool), EACCES);
    assert_int_equal(try_with(LANDLOCK_WRITE, "in", run_tool), EACCES);
    assert_int_equal(try_with(LANDLOCK_READ_EXEC, "in", run_tool), 7);
    assert_int_equal(try_with(LANDLOCK_WRITE_EXEC, "in", run_tool), 7);
}

TEST(a_single_file_can_be_granted)
{
    need_abi(1);
    assert_int_equal(try_with(LANDLOCK_READ, "bare", read_bare), 0);
    assert_int_equal(try_with(LANDLOCK_READ, "bare", write_bare), EACCES);
    assert_int_equal(try_with(LANDLOCK_WRITE, "bare", write_bare), 0);
    assert_int_equal(try_with(LANDLOCK_READ, "bare", read_inside), EACCES);
}

static int use_null(const void *user)
{
    struct landlock_path path = {"/dev/null", LANDLOCK_DEVICE};
    int fd, blocks;

    (void)user;
    child_need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    child_need(landlock_restrict(&path, 1, NULL) == 0);
    fd = open("/dev/null", O_RDWR | O_TRUNC | O_CLOEXEC);
    if (fd < 0 || write(fd, "x", 1) != 1)
        return 1;
    if (open("/dev/zero", O_RDONLY | O_CLOEXEC) >= 0 || errno != EACCES)
        return 2;
    /* Without the fence the answer is ENOTTY. */
    return ioctl(fd, BLKGETSIZE, &blocks) < 0 ? errno : 0;
}

TEST(a_device_can_be_used_but_not_controlled)
{
    need_abi(ABI_IOCTL);
    assert_int_equal(in_child(use_null, NULL), EACCES);
}

static int signal_parent(const void *user)
{
    (void)user;
    child_need(kill(getppid(), 0) == 0);
    child_need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    child_need(landlock_restrict(NULL, 0, NULL) == 0);
    return kill(getppid(), 0) < 0 ? errno : 0;
}

TEST(processes_outside_get_no_signals)
{
    need_abi(ABI_SCOPES);
    assert_int_equal(in_child(signal_parent, NULL), EPERM);
}

static int connect_abstract(const void *user)
{
    const struct sockaddr_un *address = user;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    child_need(fd >= 0);
    child_need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    child_need(landlock_restrict(NULL, 0, NULL) == 0);
    return connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 ? errno : 0;
}

TEST(abstract_sockets_outside_are_out_of_reach)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    need_abi(ABI_SCOPES);
    (void)snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "test-landlock-%d",
                   getpid());
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(in_child(connect_abstract, &address), EPERM);
    close(fd);
}

/* --- failures --- */

struct fault {
    unsigned call;
    unsigned error;
    enum error_code code;
    const char *message;
};

static int restrict_with_fault(const void *user)
{
    const struct fault *fault = user;
    struct landlock_path path = {"/", LANDLOCK_READ};
    struct error err = {0};

    child_need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    deny_call(fault->call, fault->error);
    if (landlock_restrict(&path, 1, &err) == 0)
        return 1;
    if (err.code != fault->code || !strstr(err.message, fault->message))
        return 2;
    return fault->code == E_UNSUPPORTED && (landlock_abi() != 0 || !err.hint) ? 3 : 0;
}

TEST(every_failing_step_is_reported)
{
    static const struct fault faults[] = {
        {SYS_landlock_create_ruleset, ENOSYS, E_UNSUPPORTED, "no Landlock"},
        {SYS_landlock_create_ruleset, EOPNOTSUPP, E_UNSUPPORTED, "no Landlock"},
        {SYS_landlock_add_rule, ENOMEM, E_SYSTEM, "allow `/`"},
        {SYS_landlock_restrict_self, E2BIG, E_SYSTEM, "restrict"},
        {SYS_openat, EMFILE, E_SYSTEM, "open `/`"},
    };

    need_abi(1);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        assert_int_equal(in_child(restrict_with_fault, &faults[i]), 0);
}

static int restrict_without_no_new_privs(const void *user)
{
    (void)user;
    become_nobody();
    return landlock_restrict(NULL, 0, NULL) < 0 ? 0 : 1;
}

TEST(an_ordinary_user_needs_no_new_privs)
{
    need_abi(1);
    assert_int_equal(in_child(restrict_without_no_new_privs, NULL), 0);
}

UNIT_MAIN_WITH(make_tree, remove_tree)
