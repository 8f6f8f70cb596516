#include "sandbox/recipe_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "sandbox/caps.h"
#include "sandbox/landlock.h"
#include "sandbox/root.h"
#include "sandbox/seccomp.h"
#include "sandbox/terminal.h"

uint64_t recipe_namespaces(void)
{
    return CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
           CLONE_NEWTIME;
}

/* First of all: whatever this process does from here on counts. */
int recipe_join_cgroup(struct recipe *r, struct error *err)
{
    for (uint32_t i = 0; i < r->spec->attach; i++) {
        if (write(r->attach_fds[i], "0", 1) != 1)
            return error_errno(err, "write 0");
        close_fd(&r->attach_fds[i]);
    }
    return 0;
}

static int become_user(struct recipe *r, struct error *err)
{
    char byte;

    if (read(r->sync_fd, &byte, 1) != 1)
        return error_set(err, E_SYSTEM, "the zygote did not map the ids");
    close_fd(&r->sync_fd);
    if (setresgid(ROOT_UID, ROOT_UID, ROOT_UID) < 0)
        return error_errno(err, "setresgid");
    if (setresuid(ROOT_UID, ROOT_UID, ROOT_UID) < 0)
        return error_errno(err, "setresuid");
    /* Not before the ids change, which resets it. Our parent is the zygote, pid 1 of the namespace
     * above. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        return error_errno(err, "prctl");
    return 0;
}

static int count_namespaces(struct recipe *r, struct error *err)
{
    static const struct {
        uint64_t flag;
        enum wire_layer layer;
    } map[] = {
        {CLONE_NEWUSER, LAYER_USER_NS}, {CLONE_NEWNS, LAYER_MOUNT_NS}, {CLONE_NEWPID, LAYER_PID_NS},
        {CLONE_NEWNET, LAYER_NET_NS},   {CLONE_NEWIPC, LAYER_IPC_NS},  {CLONE_NEWUTS, LAYER_UTS_NS},
        {CLONE_NEWTIME, LAYER_TIME_NS},
    };

    for (size_t i = 0; i < ARRAY_SIZE(map); i++)
        if (r->namespaces & map[i].flag)
            r->layers |= map[i].layer;
    if (getpid() != 1)
        return error_set(err, E_INTERNAL, "not pid 1 of a namespace");
    /* From inside its group, so that /proc/self/cgroup shows "/" and nothing of the host. */
    if (unshare(CLONE_NEWCGROUP) < 0)
        return error_errno(err, "unshare the cgroup namespace");
    r->layers |= LAYER_CGROUP_NS;
    return 0;
}

static int set_identity(struct recipe *r, struct error *err)
{
    if (r->prepared & CLONE_NEWUTS)
        return 0;
    if (sethostname("belljar", 7) < 0)
        return error_errno(err, "sethostname");
    if (setdomainname("(none)", 6) < 0)
        return error_errno(err, "setdomainname");
    return 0;
}

/* The memory of TCP is one number for the whole host, and where no cgroup counts it nothing else
 * bounds it. Buffers that grow by themselves grow to this, which is plenty for a loopback. */
static void limit_buffers(void)
{
    (void)file_write(AT_FDCWD, "/proc/sys/net/ipv4/tcp_wmem", "4096 16384 262144");
    (void)file_write(AT_FDCWD, "/proc/sys/net/ipv4/tcp_rmem", "4096 131072 262144");
}

/* A loopback of its own, leading nowhere: programs that talk to themselves work. */
static int raise_loopback(struct recipe *r, struct error *err)
{
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    cleanup_close int fd = -1;

    if (r->prepared & CLONE_NEWNET)
        return 0;
    fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request) < 0)
        return error_errno(err, "bring up lo");
    limit_buffers();
    return 0;
}

uint64_t recipe_prepare(void)
{
    static const uint64_t flags = CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;
    struct recipe nobody = {0};

    if (unshare((int)flags) < 0 || set_identity(&nobody, NULL) < 0 ||
        raise_loopback(&nobody, NULL) < 0)
        return 0;
    return flags;
}

/* Programs start in a granted directory where one was chosen. A directory that this user may not
 * enter is granted all the same: the program then starts in /workspace. */
static int enter_workdir(const struct wire_spawn *spec, struct error *err)
{
    cleanup_free char *path = spec->workdir.len ? span_dup(spec->workdir) : NULL;

    if (spec->workdir.len && !path)
        return error_memory(err);
    if (path && chdir(path) == 0)
        return 0;
    if (path && errno != EACCES) {
        error_errno(err, "start in `%s`", path);
        err->code = E_NOT_FOUND;
        return error_hint(err, "`workdir` names an existing directory in /workspace or in a "
                               "granted directory");
    }
    if (chdir("/workspace") < 0)
        return error_errno(err, "chdir /workspace");
    return 0;
}

static int enter_root(struct recipe *r, struct error *err)
{
    r->ptmx_fd = -1;
    if (root_enter(r->spec, r->grant_fds, r->overlay_fds, err) < 0)
        return -1;
    if (terminal_mount(r->spec->flags & WIRE_SPAWN_TERMINAL ? 1 : WIRE_TERMINALS, &r->ptmx_fd,
                       err) < 0)
        return -1;
    for (uint32_t i = 0; i < r->spec->n_grants; i++)
        close_fd(&r->grant_fds[i]);
    if (enter_workdir(r->spec, err) < 0)
        return -1;
    r->layers |= LAYER_ROOT | LAYER_PROC;
    return 0;
}

/* Limits that no request changes. Hard limits are only ever lowered: root may lack the right to
 * raise them. */
int recipe_set_rlimits(struct recipe *r, struct error *err)
{
    static const struct {
        int resource;
        rlim_t value;
    } table[] = {
        {RLIMIT_CORE, 0},   {RLIMIT_MSGQUEUE, 1 << 20}, {RLIMIT_SIGPENDING, 1024},
        {RLIMIT_RTPRIO, 0}, {RLIMIT_NICE, 0},           {RLIMIT_MEMLOCK, 8 << 20},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        struct rlimit limit;

        if (getrlimit(table[i].resource, &limit) < 0)
            return error_errno(err, "getrlimit");
        if (limit.rlim_max > table[i].value)
            limit.rlim_max = table[i].value;
        limit.rlim_cur = limit.rlim_max;
        if (setrlimit(table[i].resource, &limit) < 0)
            return error_errno(err, "setrlimit");
    }
    if (setsid() < 0)
        return error_errno(err, "setsid");
    r->layers |= LAYER_RLIMITS;
    return 0;
}

static int drop_privileges(struct recipe *r, struct error *err)
{
    if (caps_drop_all(err) < 0 || caps_no_new_privs(err) < 0)
        return -1;
    if (prctl(PR_SET_DUMPABLE, 0) < 0)
        return error_errno(err, "prctl");
    r->layers |= LAYER_CAPS | LAYER_NO_NEW_PRIVS;
    return 0;
}

bool recipe_has_broker(const struct recipe *r)
{
    for (uint32_t i = 0; i < r->spec->n_grants; i++)
        if (r->spec->grants[i].mode == WIRE_GRANT_RW)
            return true;
    return false;
}

/* The list of the mounts, plus the paths of grants. The broker, which is outside, writes those
 * granted for writing; its descriptors have rights of their own. */
static int restrict_paths(struct recipe *r, struct error *err)
{
    static const struct landlock_path fixed[] = {
        {"/", LANDLOCK_READ_EXEC},        {"/workspace", LANDLOCK_WRITE_EXEC},
        {"/tmp", LANDLOCK_WRITE_EXEC},    {"/dev/shm", LANDLOCK_WRITE_EXEC},
        {"/proc", LANDLOCK_WRITE},        {"/dev/null", LANDLOCK_DEVICE},
        {"/dev/zero", LANDLOCK_DEVICE},   {"/dev/full", LANDLOCK_DEVICE},
        {"/dev/random", LANDLOCK_DEVICE}, {"/dev/urandom", LANDLOCK_DEVICE},
        {"/dev/tty", LANDLOCK_TERMINAL},  {TERMINAL_PLACE, LANDLOCK_TERMINAL},
    };
    struct landlock_path paths[ARRAY_SIZE(fixed) + WIRE_GRANTS_MAX];
    char *names[WIRE_GRANTS_MAX] = {0};
    size_t count = ARRAY_SIZE(fixed);
    int result = 0;

    if (landlock_abi() == 0)
        return 0; /* a profile that insists on it is told so by the missing layer */

    memcpy(paths, fixed, sizeof(fixed));
    for (uint32_t i = 0; i < r->spec->n_grants; i++) {
        names[i] = span_dup(r->spec->grants[i].path);
        if (!names[i])
            result = error_memory(err);
        paths[count++] = (struct landlock_path){
            names[i] ? names[i] : "",
            r->spec->grants[i].mode == WIRE_GRANT_COW ? LANDLOCK_WRITE_EXEC : LANDLOCK_READ_EXEC,
        };
    }
    if (result == 0)
        result = landlock_restrict(paths, count, err);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        free(names[i]);
    if (result == 0)
        r->layers |= LAYER_LANDLOCK;
    return result;
}

/* A process has one listener in all its filters. Where the write broker needs it, or where somebody
 * around us has it, refused calls get the same answers and nobody is told. */
int recipe_filter_base(struct recipe *r, struct error *err)
{
    r->listener_fd = -1;
    if (recipe_has_broker(r)) {
        if (seccomp_listen(SECCOMP_BROKER, &r->listener_fd, err) < 0)
            return -1;
    } else if (seccomp_listen(SECCOMP_REPORT, &r->listener_fd, NULL) == 0) {
        return 0;
    }
    return seccomp_load(SECCOMP_BASE, err);
}

static int filter_calls(struct recipe *r, struct error *err)
{
    if (recipe_filter_base(r, err) < 0)
        return -1;
    if ((r->spec->flags & WIRE_SPAWN_NO_MEMFD) && seccomp_load(SECCOMP_NO_MEMFD, err) < 0)
        return -1;
    if (r->spec->n_grants && seccomp_load(SECCOMP_NO_UNIX, err) < 0)
        return -1;
    r->layers |= LAYER_SECCOMP;
    return 0;
}

static const struct recipe_step steps[] = {
    {"join the cgroup", recipe_join_cgroup},
    {"become the user", become_user},
    {"check the namespaces", count_namespaces},
    {"set the host name", set_identity},
    {"raise the loopback", raise_loopback},
    {"build the root", enter_root},
    {"set resource limits", recipe_set_rlimits},
    {"drop privileges", drop_privileges},
    {"restrict paths", restrict_paths},
    {"filter system calls", filter_calls}, /* last: the steps above need calls it forbids */
};

int recipe_run(struct recipe *r, const struct recipe_step *recipe, size_t count, struct error *err)
{
    for (size_t i = 0; i < count; i++)
        if (recipe[i].run(r, err) < 0)
            return error_wrap(err, "%s", recipe[i].name);
    return 0;
}

int recipe_seal(struct recipe *r, struct error *err)
{
    return recipe_run(r, steps, ARRAY_SIZE(steps), err);
}
