/* Facts of the host that explain a grade. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/meminfo.h"
#include "cli/doctor/doctor.h"
#include "sandbox/landlock.h"

/* Resources of a waiting sandbox: descriptors of the supervisor, memory, and what the supervisor
 * has open besides. */
#define BOX_DESCRIPTORS 6
#define BOX_BYTES       (8 * MIB)
#define OWN_DESCRIPTORS 64

static int64_t read_sysctl(const char *path)
{
    char text[32];
    int64_t value;

    if (file_read(AT_FDCWD, path, text, sizeof(text)) < 0 || sscanf(text, "%" SCNd64, &value) != 1)
        return DOCTOR_ABSENT;
    return value;
}

static void read_memory(struct doctor_host *host)
{
    struct meminfo m;

    if (!meminfo_read(&m))
        return;
    host->memory_bytes = m.total_bytes;
    host->available_bytes = m.available_bytes;
    host->swap_bytes = m.swap_bytes;
}

static void bound(struct doctor_host *host, uint64_t room, const char *by, const char *more)
{
    if (room >= host->max_sandboxes)
        return;
    host->max_sandboxes = (size_t)room;
    host->limited_by = by;
    host->more = more;
}

static void count_room(struct doctor_host *host)
{
    struct rlimit files;

    host->max_sandboxes = LIMIT_SANDBOXES;
    host->limited_by = "Belljar's own ceiling";
    bound(host, host->available_bytes / BOX_BYTES, "memory", NULL);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0)
        bound(host,
              files.rlim_cur < OWN_DESCRIPTORS
                  ? 0
                  : (files.rlim_cur - OWN_DESCRIPTORS) / BOX_DESCRIPTORS,
              "open files", "ulimit -n 65536");
    if (host->max_user_namespaces >= 0)
        bound(host, (uint64_t)host->max_user_namespaces, "user namespaces", NULL);
}

void doctor_host_read(struct doctor_host *host)
{
    struct utsname name;

    *host = (struct doctor_host){
        .uid = geteuid(),
        .cores = sysconf(_SC_NPROCESSORS_ONLN),
        .landlock_abi = landlock_abi(),
        .has_cgroup_v2 = access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0,
        .max_user_namespaces = read_sysctl("/proc/sys/user/max_user_namespaces"),
        .unprivileged_userns_clone = read_sysctl("/proc/sys/kernel/unprivileged_userns_clone"),
        .apparmor_restricts_userns =
            read_sysctl("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
    };
    if (uname(&name) == 0) {
        (void)snprintf(host->release, sizeof(host->release), "%s", name.release);
        (void)snprintf(host->machine, sizeof(host->machine), "%s", name.machine);
    }
    read_memory(host);
    count_room(host);
}

const char *doctor_host_improve_userns(const struct doctor_host *host)
{
    if (host->max_user_namespaces == 0)
        return "user namespaces are switched off for everybody (user.max_user_namespaces is 0): "
               "run "
               "belljar on a host that has them";
    if (host->uid == 0)
        return NULL; /* the two switches below are for those without rights */
    if (host->unprivileged_userns_clone == 0)
        return "only root may make user namespaces here (kernel.unprivileged_userns_clone is 0): "
               "run the server as root, `sudo belljar serve`; no sandbox is root";
    if (host->apparmor_restricts_userns == 1)
        return "sudo apparmor_parser -r /etc/apparmor.d/belljar (Belljar's AppArmor profile, which "
               "the package and `make install` put there, allows user namespaces to Belljar only)";
    return NULL;
}
