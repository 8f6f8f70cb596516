/* Nothing stays behind: killing and removing groups, the janitor, and what dead supervisors left.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/janitor.h"
#include "sandbox/cgroup_internal.h"

/* A killed process needs a moment to let go of its group, one in Linux's hands longer. */
#define RETRY_MS     5
#define RETRY_MS_MAX 5000

/* The list of a group is read this often while it is not empty: a process that forks while we read
 * it is on the next list. */
#define KILL_ROUNDS 20

/* Kills those on the list but `spared`; returns whether there were any. */
static bool kill_list(int dirfd, const char *path, pid_t spared)
{
    cleanup_fclose FILE *list = file_open_stream(dirfd, path);
    bool has_any = false;
    int pid;

    while (list && fscanf(list, "%d", &pid) == 1) {
        if (pid == spared)
            continue;
        /* 0 is a process of another pid namespace: it cannot be named from here. */
        if (pid > 0 && pid != getpid())
            (void)kill(pid, SIGKILL);
        has_any = true;
    }
    return has_any;
}

void cgroup_kill_others_at(int dirfd, const char *name, pid_t spared)
{
    char path[CGROUP_PATH_MAX];

    (void)snprintf(path, sizeof(path), "%s/cgroup.procs", name);
    for (int round = 0; round < KILL_ROUNDS && kill_list(dirfd, path, spared); round++)
        ;
}

void cgroup_kill_at(int dirfd, const char *name)
{
    char path[CGROUP_PATH_MAX];

    (void)snprintf(path, sizeof(path), "%s/cgroup.kill", name); /* v2, Linux 5.14 */
    if (file_write(dirfd, path, "1") == 0)
        return;

    /* If this is the pids controller's directory, nothing can fork from here on. */
    (void)snprintf(path, sizeof(path), "%s/pids.max", name);
    (void)file_write(dirfd, path, "0");

    cgroup_kill_others_at(dirfd, name, -1);
}

/* Kills and removes every group below `dirfd`; `leave` stays. Returns how many could not be
 * removed. */
static size_t clear_below(int dirfd, const char *leave)
{
    cleanup_closedir DIR *dir = file_open_dir(dirfd, ".");
    struct dirent *entry;
    size_t left = 0;

    if (!dir)
        return 0;
    while ((entry = readdir(dir))) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.' ||
            (leave && strcmp(entry->d_name, leave) == 0))
            continue;
        if (unlinkat(dirfd, entry->d_name, AT_REMOVEDIR) == 0 || errno == ENOENT)
            continue;
        cgroup_kill_at(dirfd, entry->d_name);
        if (unlinkat(dirfd, entry->d_name, AT_REMOVEDIR) < 0 && errno != ENOENT)
            left++;
    }
    return left;
}

static bool remove_place(const struct cgroup_place *place, const char *name)
{
    cleanup_free char *path = NULL;

    if (asprintf(&path, "%s/%s", place->parent, name) < 0)
        return false;
    return rmdir(path) == 0 || errno == ENOENT;
}

static size_t clear_once(struct cgroup_host *host, const char *leave)
{
    size_t left = 0;

    for (size_t i = 0; i < host->n_places; i++) {
        struct cgroup_place *place = &host->places[i];

        if (place->fd < 0)
            continue;
        left += clear_below(place->fd, leave);
        if (leave)
            continue;
        if (remove_place(place, host->name))
            close_fd(&place->fd);
        else
            left++;
    }
    return left;
}

static void clear(struct cgroup_host *host, const char *leave)
{
    for (int waited_ms = 0; clear_once(host, leave) && waited_ms < RETRY_MS_MAX;
         waited_ms += RETRY_MS)
        (void)poll(NULL, 0, RETRY_MS);
}

void cgroup_clear(struct cgroup_host *host)
{
    /* The leaf holds the caller, who can leave it only when no group needs the controllers any
     * more. */
    if (host->has_moved) {
        clear(host, CGROUP_LEAF);
        cgroup_v2_leave(host);
    }
    clear(host, NULL);
}

/* --- what dead supervisors left --- */

/* Field 22 of /proc/<pid>/stat; the second one is a name in parentheses that may hold anything. 0:
 * no such process. */
static uint64_t start_time(const char *pid)
{
    char path[64], text[1024];
    const char *at;

    (void)snprintf(path, sizeof(path), "/proc/%s/stat", pid);
    if (file_read(AT_FDCWD, path, text, sizeof(text)) < 0)
        return 0;
    at = strrchr(text, ')');
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at + 1, NULL, 10) : 0;
}

int cgroup_own_name(char name[CGROUP_DIR_MAX])
{
    uint64_t started = start_time("self");

    if (!started)
        return -1;
    (void)snprintf(name, CGROUP_DIR_MAX, "belljar-%d-%" PRIu64, getpid(), started);
    return 0;
}

/* Two signs of life: the process, and the lock on the directory, which is also seen from another
 * pid namespace. */
static bool is_stale(int parent, const char *name)
{
    cleanup_close int fd = -1;
    char pid[16];
    uint64_t started;
    int end = 0;

    if (sscanf(name, "belljar-%15[0-9]-%" SCNu64 "%n", pid, &started, &end) != 2 || name[end])
        return false;
    if (start_time(pid) == started)
        return false;
    fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
}

void cgroup_sweep_stale(const char *parent)
{
    cleanup_closedir DIR *dir = opendir(parent);
    struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        cleanup_close int fd = -1;

        if (entry->d_type != DT_DIR || strncmp(entry->d_name, "belljar-", 8) != 0 ||
            !is_stale(dirfd(dir), entry->d_name))
            continue;
        /* One try: a process that needs longer to die has a next start of ours to go away at. */
        fd = openat(dirfd(dir), entry->d_name, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0 && clear_below(fd, NULL) == 0)
            (void)unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
    }
}

/* --- the janitor --- */

/* Groups that others left are cleared there, where nobody waits for it. */
static void clear_others(void *arg)
{
    const struct cgroup_host *host = arg;

    for (size_t i = 0; i < host->n_places; i++)
        cgroup_sweep_stale(host->places[i].parent);
}

static void clear_ours(void *arg)
{
    struct cgroup_host *host = arg;

    for (size_t i = 0; i < host->n_places; i++) {
        struct cgroup_place *place = &host->places[i];
        char path[4096];

        (void)snprintf(path, sizeof(path), "%s/%s", place->parent, host->name);
        place->fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    }
    cgroup_clear(host);
}

int cgroup_janitor_start(struct cgroup_host *host, struct error *err)
{
    pid_t pid = janitor_start(clear_others, clear_ours, host, err);

    if (pid < 0)
        return error_wrap(err, "cgroups");
    host->janitor = pid;
    return 0;
}

void cgroup_janitor_stop(struct cgroup_host *host)
{
    janitor_stop(host->janitor);
    host->janitor = 0;
}
