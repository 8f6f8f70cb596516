/* The listener keeps the descriptors it has and the calls to use them, and nothing else. */
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "listener/internal.h"
#include "sandbox/caps.h"
#include "sandbox/landlock.h"
#include "sandbox/ns.h"
#include "sandbox/seccomp.h"

/* Killed before the engine when the machine runs out of memory: it is started again. */
#define OOM_SCORE "500"

/* Descriptors beside connections: our own, those of libraries, and those that are closed at the end
 * of a turn of the loop. */
#define SPARE_DESCRIPTORS (32 + 4 * LISTENER_TAKEN_AT_ONCE)

/* For each connection: what it has sent, what it gets, and the state of TLS. */
#define BASE_BYTES       (256 * MIB)
#define CONNECTION_BYTES (512 * KIB)

/* The address checker takes terabytes of addresses for itself. */
#if defined(__SANITIZE_ADDRESS__)
#define HAS_CHECKER true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_CHECKER true
#endif
#endif
#ifndef HAS_CHECKER
#define HAS_CHECKER false
#endif

static int set_limit(int resource, uint64_t value, const char *name, struct error *err)
{
    struct rlimit limit;

    if (getrlimit((__rlimit_resource_t)resource, &limit) < 0)
        return error_errno(err, "limit %s", name);
    if (limit.rlim_max > value)
        limit.rlim_max = value;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit((__rlimit_resource_t)resource, &limit) < 0)
        return error_errno(err, "limit %s", name);
    return 0;
}

static int set_limits(uint64_t connections, struct error *err)
{
    if (set_limit(RLIMIT_CORE, 0, "core files", err) < 0 ||
        set_limit(RLIMIT_FSIZE, 0, "files", err) < 0 ||
        set_limit(RLIMIT_MEMLOCK, 0, "locked memory", err) < 0 ||
        set_limit(RLIMIT_MSGQUEUE, 0, "message queues", err) < 0 ||
        set_limit(RLIMIT_NOFILE, connections + SPARE_DESCRIPTORS, "descriptors", err) < 0 ||
        (!HAS_CHECKER &&
         set_limit(RLIMIT_DATA, BASE_BYTES + connections * CONNECTION_BYTES, "memory", err) < 0))
        return -1;
    return 0;
}

/* Started by root, the listener becomes a user that owns nothing. Changing ids takes the signal
 * away that comes with the engine's end. */
static int leave_root(struct error *err)
{
    struct ns_ids ids;

    if (geteuid() != 0)
        return 0;
    if (ns_pick_nobody(&ids, err) < 0)
        return -1;
    if (setgroups(0, NULL) < 0 || setresgid(ids.gid_base, ids.gid_base, ids.gid_base) < 0 ||
        setresuid(ids.uid_base, ids.uid_base, ids.uid_base) < 0)
        return error_errno(err, "become user %u", ids.uid_base);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
        return error_errno(err, "ask for the signal of the engine's end");
    return 0;
}

/* Files are out of reach without it, too: there is no call left that takes a path. A kernel that
 * has Landlock has to apply it. */
static int close_files(struct error *err)
{
    return landlock_abi() > 0 ? landlock_restrict(NULL, 0, err) : 0;
}

int confine(uint64_t connections, struct error *err)
{
    cleanup_close int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    if (score < 0 || write(score, OOM_SCORE, sizeof(OOM_SCORE) - 1) < 0)
        return error_errno(err, "set the score for the time when memory is short");
    close_fd(&score);
    if (set_limits(connections, err) < 0 || leave_root(err) < 0 || caps_clear(err) < 0 ||
        caps_no_new_privs(err) < 0)
        return -1;
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return error_errno(err, "close the memory to others");
    return close_files(err) < 0 ? -1 : seccomp_load(SECCOMP_LISTENER, err);
}
