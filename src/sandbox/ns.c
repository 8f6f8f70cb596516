#include "sandbox/ns.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/oom.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/child.h"
#include "base/cleanup.h"
#include "base/file.h"

/* Above every range that distributions hand out by default (systemd's container range ends at
 * 0x6fffffff, subordinate ids start low). Supervisors of one host take different slices, by pid. */
#define RANGE_BASE   0x70000000u
#define RANGE_COUNT  0x10000u
#define RANGE_SLICES 256u

/* Ids that a container's root must have: half of them are for sandboxes. */
#define IDS_LEAST 1024u

/* The user that owns nothing. */
#define NOBODY 65534u

#define ZYGOTE_SOCKET 3
#define ZYGOTE_STEADY 4

/* The program's whole environment, and so the sandbox's. One BLAS thread: a process that forks has
 * no threads. */
static char *environment[] = {
    "LD_PRELOAD=/proc/self/fd/4", /* the first only for a steady one */
    "PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games:/etc/bin",
    "HOME=/workspace",
    "USER=user",
    "LOGNAME=user",
    "SHELL=/bin/bash",
    "LANG=C.UTF-8",
    "TMPDIR=/tmp",
    "TERM=dumb",
    "MPLBACKEND=Agg",
    "MPLCONFIGDIR=/tmp/.matplotlib",
    "XDG_CACHE_HOME=/tmp/.cache", /* of fontconfig and others: no files of the program */
    "OMP_NUM_THREADS=1",
    "OPENBLAS_NUM_THREADS=1",
    "MKL_NUM_THREADS=1",
    "NUMEXPR_NUM_THREADS=1",
    "PYTHONDONTWRITEBYTECODE=1",
    "npm_config_fetch_retries=0", /* the gate does not change its mind, and npm waits a minute */
    "PIP_NO_COMPILE=1", /* no `__pycache__`: in a directory granted for writing it is refused */
    NULL,
};

/* clone(2), for containers that answer clone3(2) with ENOSYS so that they can judge the flags. */
static pid_t clone_by_registers(const struct clone_args *args)
{
    unsigned long flags = (unsigned long)(args->flags | args->exit_signal);

#ifdef __x86_64__
    return (pid_t)syscall(SYS_clone, flags, 0UL, args->pidfd, args->child_tid, 0UL);
#else
    return (pid_t)syscall(SYS_clone, flags, 0UL, args->pidfd, 0UL, args->child_tid);
#endif
}

pid_t ns_clone(uint64_t flags, int *ret_pidfd)
{
    struct clone_args args = {
        .flags = flags | (ret_pidfd ? CLONE_PIDFD : 0),
        .pidfd = (uintptr_t)ret_pidfd,
        .exit_signal = SIGCHLD,
    };
    int *tid = NULL;
    pid_t pid;

    /* Linux tells where the C library keeps its thread id (Linux 3.5,
     * CONFIG_CHECKPOINT_RESTORE); the child's is written there by clone itself. */
    if (prctl(PR_GET_TID_ADDRESS, &tid) == 0 && tid) {
        args.flags |= CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID;
        args.child_tid = (uintptr_t)tid;
    }
    pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
    /* A time namespace shares its bit with the exit signal of the older call. */
    if (pid < 0 && errno == ENOSYS && !(flags & CSIGNAL))
        pid = clone_by_registers(&args);
    return pid;
}

/* The number of ids from 0 up that this process's namespace maps without a gap. A rootless
 * container has its user as id 0 and a range of others behind it, in a line of its own. */
static uint32_t mapped_ids(const char *map)
{
    char text[1024];
    unsigned inside, outside, count, total = 0;
    int len;

    if (file_read(AT_FDCWD, map, text, sizeof(text)) < 0)
        return 0;
    for (const char *at = text; sscanf(at, "%u %u %u%n", &inside, &outside, &count, &len) == 3 &&
                                inside == total && count <= UINT32_MAX - total;
         at += len)
        total += count;
    return total;
}

static uint32_t shared_id; /* 0: there is none */

void ns_share_id(uint32_t id)
{
    shared_id = id;
}

int ns_pick_ids(struct ns_ids *ret_ids, struct error *err)
{
    uint32_t uids, gids, count;

    if (geteuid() != 0) {
        *ret_ids = (struct ns_ids){geteuid(), getegid(), 1};
        return 0;
    }
    if (shared_id) {
        *ret_ids = (struct ns_ids){shared_id - 1, shared_id - 1, 2};
        return 0;
    }

    uids = mapped_ids("/proc/self/uid_map");
    gids = mapped_ids("/proc/self/gid_map");
    count = uids < gids ? uids : gids;
    if (count >= RANGE_BASE + RANGE_SLICES * RANGE_COUNT) {
        uint32_t base = RANGE_BASE + (uint32_t)getpid() % RANGE_SLICES * RANGE_COUNT;

        *ret_ids = (struct ns_ids){base, base, RANGE_COUNT};
        return 0;
    }
    /* Root of a container: its upper half belongs to nobody in particular. */
    if (count >= IDS_LEAST) {
        *ret_ids = (struct ns_ids){count / 2, count / 2, count / 2};
        return 0;
    }
    error_set(err, E_UNSUPPORTED,
              "root has only %u user ids here, and sandboxes need ids of their own", count);
    return error_hint(
        err, "run belljar as an ordinary user, or give the container a range of %u ids or more",
        IDS_LEAST);
}

int ns_pick_nobody(struct ns_ids *ret_ids, struct error *err)
{
    struct ns_ids ids;

    if (ns_pick_ids(&ids, err) < 0)
        return -1;
    if (geteuid() != 0)
        *ret_ids = ids;
    else
        *ret_ids = (struct ns_ids){ids.uid_base > NOBODY ? NOBODY : ids.uid_base - 1,
                                   ids.gid_base > NOBODY ? NOBODY : ids.gid_base - 1, 1};
    return 0;
}

uint32_t ns_next_uid(const struct ns_ids *ids)
{
    static uint32_t counter;

    return ids->count == 1 ? 0 : 1 + counter++ % (ids->count - 1);
}

static int write_proc(pid_t pid, const char *name, const char *text, struct error *err)
{
    char path[64];
    int r;

    if (pid)
        (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    else
        (void)snprintf(path, sizeof(path), "/proc/self/%s", name);
    r = file_write(AT_FDCWD, path, text);
    if (r < 0) {
        errno = -r;
        return error_errno(err, "write %s", name);
    }
    return 0;
}

int ns_write_map(pid_t pid, const struct ns_map *map, struct error *err)
{
    char uids[64], gids[64];

    (void)snprintf(uids, sizeof(uids), "%u %u %u\n", map->uid, map->outside_uid, map->count);
    (void)snprintf(gids, sizeof(gids), "%u %u %u\n", map->gid, map->outside_gid, map->count);
    if ((map->denies_setgroups && write_proc(pid, "setgroups", "deny", err) < 0) ||
        write_proc(pid, "uid_map", uids, err) < 0)
        return -1;
    return write_proc(pid, "gid_map", gids, err);
}

/* A handle on the program through a read-only mount of its own: what /proc/self/exe leads to inside
 * a sandbox can then not be opened for writing, whoever owns the file (CVE-2019-5736). Needs
 * Linux 5.12; without it Landlock and the inode's mode are left. */
static int open_program(const char *path)
{
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID};
    int fd = (int)syscall(SYS_open_tree, AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

    if (fd >= 0 && syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH, &attr, sizeof(attr)) == 0)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return open(path, O_PATH | O_CLOEXEC);
}

const char *ns_exit_reason(int code)
{
    switch (code) {
    case NS_EXIT_OPEN:
        return "cannot open belljar-zygote, or belljar-steady.so next to it";
    case NS_EXIT_ORPHAN:
        return "the supervisor has ended";
    case NS_EXIT_IDS:
        return "cannot switch to the user ids of the sandbox";
    case NS_EXIT_PREPARE:
        return "the zygote's process cannot be prepared";
    case NS_EXIT_EXEC:
        return "belljar-zygote cannot be executed";
    case NS_EXIT_LOADER:
        return "a shared library that belljar-zygote needs is missing";
    default:
        return NULL;
    }
}

/* --- in the child, still in the supervisor's image: what goes wrong is told by the exit code,
 * which the supervisor words --- */

/* Without a user namespace root becomes the first of the ids, and everybody else stays. */
static void take_host_ids(const struct ns_ids *ids)
{
    if (geteuid() != 0)
        return;
    if (setgroups(0, NULL) < 0 || setresgid(ids->gid_base, ids->gid_base, ids->gid_base) < 0 ||
        setresuid(ids->uid_base, ids->uid_base, ids->uid_base) < 0)
        _exit(NS_EXIT_IDS);
}

static void take_ids(const struct ns_ids *ids)
{
    if (ids->count > 1 && setgroups(0, NULL) < 0)
        _exit(NS_EXIT_IDS);
    if (setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0)
        _exit(NS_EXIT_IDS);
}

static void leave_callers_world(bool is_steady, bool is_on_host)
{
    /* The handlers of a zygote on the host end what it has started. Executing keeps this. */
    if (prctl(PR_SET_PDEATHSIG, is_on_host ? SIGTERM : SIGKILL) < 0 || setsid() < 0)
        _exit(NS_EXIT_PREPARE);
    child_reset_signals();
    if (is_steady && personality(ADDR_NO_RANDOMIZE) < 0)
        _exit(NS_EXIT_PREPARE);
    (void)umask(022);
    (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    if (chdir("/") < 0)
        _exit(NS_EXIT_PREPARE);
}

/* Numbers 0 to 2 become /dev/null and 3 the socket; the source may itself be 3, so it is moved up
 * first. Only the program stays open beyond them, until it is executed. */
static void arrange_descriptors(int sock, int *program, int steady)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    bool is_steady = steady >= 0;

    if (null < 0)
        _exit(NS_EXIT_PREPARE);
    sock = fcntl(sock, F_DUPFD_CLOEXEC, 16);
    *program = fcntl(*program, F_DUPFD_CLOEXEC, 16);
    steady = is_steady ? fcntl(steady, F_DUPFD_CLOEXEC, 16) : -1;
    if (sock < 0 || *program < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 ||
        dup2(sock, ZYGOTE_SOCKET) < 0 || (is_steady && dup2(steady, ZYGOTE_STEADY) < 0))
        _exit(NS_EXIT_PREPARE);
    if (close_range((is_steady ? ZYGOTE_STEADY : ZYGOTE_SOCKET) + 1U, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
        _exit(NS_EXIT_PREPARE);
}

static void __attribute__((noreturn))
become_zygote(const struct ns_program *what, int sock, int sync, const struct ns_ids *ids)
{
    static char name[] = "belljar-zygote";
    static char on_host[] = NS_ON_HOST;
    char *const argv[] = {name, what->is_on_host ? on_host : NULL, NULL};
    int program, steady;
    char byte;

    /* Before anything is given up: the program may lie where only the caller may look. */
    program = open_program(what->path);
    steady = what->steady ? open(what->steady, O_RDONLY | O_CLOEXEC) : -1;
    if (read(sync, &byte, 1) != 1)
        _exit(NS_EXIT_ORPHAN);
    /* Not earlier: an ordinary user may not write the maps of a process that has ended. */
    if (program < 0 || (what->steady && steady < 0))
        _exit(NS_EXIT_OPEN);
    if (what->is_on_host)
        take_host_ids(ids);
    else
        take_ids(ids);
    leave_callers_world(what->steady != NULL, what->is_on_host);
    arrange_descriptors(sock, &program, steady);
    (void)syscall(SYS_execveat, program, "", argv, environment + (what->steady ? 0 : 1),
                  AT_EMPTY_PATH);
    _exit(NS_EXIT_EXEC);
}

/* --- in the supervisor --- */

static int no_namespaces(struct error *err)
{
    int saved = errno;

    (void)error_errno(err, "create namespaces");
    if (saved == EPERM || saved == ENOSPC || saved == EINVAL) {
        err->code = E_UNSUPPORTED;
        error_hint(err, "this host does not let you make user namespaces: `belljar doctor` says "
                        "how to allow them. `--isolation process` runs programs without them and "
                        "protects less: only if you accept what docs/THREATS.md lists");
    }
    return -1;
}

/* Its ids, and then the word to go on. */
static int release(pid_t pid, int sync, const struct ns_ids *ids, bool is_on_host,
                   struct error *err)
{
    struct ns_map map = {
        .outside_uid = ids->uid_base,
        .outside_gid = ids->gid_base,
        .count = ids->count,
        /* Root keeps it, because the child must drop root's own groups with it. */
        .denies_setgroups = ids->count == 1,
    };

    if (!is_on_host && ns_write_map(pid, &map, err) < 0)
        return -1;
    /* One that has ended already tells by its exit code why. */
    if (write(sync, "", 1) != 1 && errno != EPIPE)
        return error_errno(err, "start the zygote");
    return 0;
}

/* When memory runs out Linux ends programs first, then sandboxes (guest/oom_rank.h),
 * then zygotes, and this process last. Ours stays as it is, since lowering it is a privilege. Where
 * we have that privilege, no process below can go below this score again. */
static void rank_zygote(pid_t pid)
{
    char path[64], text[16];
    int own;

    if (file_read(AT_FDCWD, "/proc/self/oom_score_adj", text, sizeof(text)) < 0)
        return;
    own = (int)strtol(text, NULL, 10);
    (void)snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", (int)pid);
    (void)file_printf(AT_FDCWD, path, "%d", own + (OOM_SCORE_ADJ_MAX - own) / 4);
}

int ns_spawn_zygote(const struct ns_program *program, int sock, const struct ns_ids *ids,
                    struct ns_child *ret_child, struct error *err)
{
    uint64_t namespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
                          (program->has_network ? 0 : CLONE_NEWNET);
    cleanup_close int pidfd = -1, theirs = -1, ours = -1;
    int sync[2];
    pid_t pid;

    if (pipe2(sync, O_CLOEXEC) < 0)
        return error_errno(err, "pipe2");
    theirs = sync[0];
    ours = sync[1];
    pid = ns_clone(program->is_on_host ? 0 : namespaces, &pidfd);
    if (pid < 0)
        return program->is_on_host ? error_errno(err, "start a process") : no_namespaces(err);
    if (pid == 0) {
        close_fd(&ours);
        become_zygote(program, sock, theirs, ids);
    }
    close_fd(&theirs);
    rank_zygote(pid);
    if (release(pid, ours, ids, program->is_on_host, err) < 0) {
        close_fd(&ours);
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
        return -1;
    }
    *ret_child = (struct ns_child){pid, take_fd(pidfd)};
    return 0;
}

static int leave(void *arg)
{
    (void)arg;
    return 0;
}

/* A user namespace outlives the process that came with it as long as that is not reaped; its maps
 * can still be written. */
int ns_idmap_fd(uint32_t disk_uid, uint32_t host_uid, uint32_t disk_gid, uint32_t host_gid,
                int *ret_fd, struct error *err)
{
    char path[64];
    pid_t pid = child_vfork(CLONE_NEWUSER, leave, NULL);
    int fd = -1, r;

    if (pid < 0)
        return error_errno(err, "create a user namespace");
    r = ns_write_map(pid, &(struct ns_map){disk_uid, host_uid, disk_gid, host_gid, 1}, err);
    if (r == 0) {
        (void)snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            r = error_errno(err, "open %s", path);
    }
    (void)waitpid(pid, NULL, 0);
    if (r == 0)
        *ret_fd = fd;
    return r;
}
