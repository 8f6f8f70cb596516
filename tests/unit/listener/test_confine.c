#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "listener/internal.h"
#include "sandbox/child.h"

#define BAD ((long)1) /* no address a process has */

struct call {
    const char *name;
    long number;
    long args[6];
};

/* Ways to a file, a socket, a program, another process, or descriptors of somebody else. */
/* clang-format off */
static const struct call refused[] = {
    {"open",              SYS_open,              {(long)"/etc/passwd", O_RDONLY}},
    {"openat",            SYS_openat,            {AT_FDCWD, (long)"/etc/passwd", O_RDONLY}},
    {"openat2",           SYS_openat2,           {AT_FDCWD, (long)"/etc/passwd", BAD, 24}},
    {"open_by_handle_at", SYS_open_by_handle_at, {AT_FDCWD, BAD, O_RDONLY}},
    {"newfstatat",        SYS_newfstatat,        {AT_FDCWD, (long)"/etc/passwd", BAD, 0}},
    {"readlink",          SYS_readlink,          {(long)"/proc/self/exe", BAD, 1}},
    {"unlink",            SYS_unlink,            {(long)"/nothing"}},
    {"mkdir",             SYS_mkdir,             {(long)"/nothing", 0700}},
    {"chdir",             SYS_chdir,             {(long)"/"}},
    {"memfd_create",      SYS_memfd_create,      {(long)"x", 0}},
    {"socket",            SYS_socket,            {AF_INET, SOCK_STREAM, 0}},
    {"socket unix",       SYS_socket,            {AF_UNIX, SOCK_STREAM, 0}},
    {"socketpair",        SYS_socketpair,        {AF_UNIX, SOCK_STREAM, 0, BAD}},
    {"connect",           SYS_connect,           {0, BAD, 16}},
    {"bind",              SYS_bind,              {0, BAD, 16}},
    {"listen",            SYS_listen,            {0, 1}},
    {"accept4",           SYS_accept4,           {0, 0, 0, 0}},
    {"sendmsg",           SYS_sendmsg,           {0, BAD, 0}},
    {"sendto",            SYS_sendto,            {0, BAD, 1, 0, 0, 0}},
    {"execve",            SYS_execve,            {(long)"/bin/true", 0, 0}},
    {"execveat",          SYS_execveat,          {AT_FDCWD, (long)"/bin/true", 0, 0, 0}},
    {"fork",              SYS_fork,              {0}},
    {"clone",             SYS_clone,             {SIGCHLD}},
    {"unshare",           SYS_unshare,           {CLONE_NEWUSER}},
    {"ptrace",            SYS_ptrace,            {0}},
    {"process_vm_readv",  SYS_process_vm_readv,  {1, BAD, 1, BAD, 1, 0}},
    {"pidfd_getfd",       SYS_pidfd_getfd,       {0, 0, 0}},
    {"kill",              SYS_kill,              {1, 0}},
    {"tgkill",            SYS_tgkill,            {1, 1, 0}},
    {"setuid",            SYS_setuid,            {0}},
    {"prctl",             SYS_prctl,             {PR_SET_DUMPABLE, 1}},
    {"seccomp",           SYS_seccomp,           {0}},
    {"mmap to execute",   SYS_mmap,              {0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0}},
    {"mprotect",          SYS_mprotect,          {0, 4096, PROT_READ | PROT_EXEC}},
    {"ioctl",             SYS_ioctl,             {0, 0x5401 /* TCGETS */, BAD}},
    {"io_uring_setup",    SYS_io_uring_setup,    {1, BAD}},
    {"bpf",               SYS_bpf,               {0}},
    {"userfaultfd",       SYS_userfaultfd,       {0}},
    {"keyctl",            SYS_keyctl,            {0}},
    {"setrlimit",         SYS_setrlimit,         {0, BAD}},
};
/* clang-format on */

static void confine_here(void)
{
    struct error err = {0};

    if (confine(8, &err) < 0) {
        dprintf(2, "# %s\n", err.message);
        _exit(CHILD_BROKEN);
    }
}

static int call_confined(const void *user)
{
    const struct call *call = user;
    const long *a = call->args;

    confine_here();
    return syscall(call->number, a[0], a[1], a[2], a[3], a[4], a[5]) < 0 ? errno : 0;
}

/* The address checker calls sigaltstack() when a child ends, which is refused, and has far more
 * memory of its own than is allowed. */
static void skip_with_checker(void)
{
#if defined(__SANITIZE_ADDRESS__)
    print_message("# skipped: the address checker needs calls and memory that are refused here\n");
    skip();
#endif
}

TEST(there_is_no_way_out)
{
    skip_with_checker();
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        int error = in_child(call_confined, &refused[i]);

        if (error != EPERM)
            fail_msg("%s: %d", refused[i].name, error);
    }
}

static int use_what_is_there(const void *user)
{
    struct epoll_event event = {.events = EPOLLIN};
    int pair[2], loop = epoll_create1(0);
    void *more;
    char c;

    (void)user;
    child_need(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    confine_here();
    more = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return more != MAP_FAILED && epoll_ctl(loop, EPOLL_CTL_ADD, pair[0], &event) == 0 &&
                   write(pair[1], "x", 1) == 1 && epoll_wait(loop, &event, 1, -1) == 1 &&
                   read(pair[0], &c, 1) == 1 && c == 'x' && close(pair[0]) == 0
               ? 0
               : 1;
}

TEST(what_is_open_can_be_used)
{
    skip_with_checker();
    assert_int_equal(in_child(use_what_is_there, NULL), 0);
}

static int take_memory(const void *user)
{
    size_t blocks = 0;

    (void)user;
    confine_here();
    while (blocks < 1024 && mmap(NULL, 16 * MIB, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
        blocks++;
    return blocks < 32 ? 0 : 1;
}

TEST(its_memory_is_bounded)
{
    skip_with_checker();
    assert_int_equal(in_child(take_memory, NULL), 0);
}

UNIT_MAIN()
