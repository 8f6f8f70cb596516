/* Stopping everything in a group for a while.
 *
 * cgroup v2 has a freezer that programs do not notice and whose processes can still be killed. The
 * one of v1 is not used: what it has frozen cannot be killed before it is thawed, so that a
 * supervisor that dies would leave processes behind. There every process gets SIGSTOP, by list. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "sandbox/cgroup_internal.h"

/* A process that was not stopped yet can wake another one. After the second round all have been
 * sent the signal; whoever still runs is seen by the next call. */
#define STOP_ROUNDS 2

/* Its state as in /proc/PID/stat; 0: it is gone. */
static char state_of(pid_t pid)
{
    char path[32], text[512], state = 0;
    const char *name_end;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    if (file_read(AT_FDCWD, path, text, sizeof(text)) < 0)
        return 0;
    name_end = strrchr(text, ')');
    if (name_end)
        (void)sscanf(name_end + 1, " %c", &state);
    return state;
}

static bool is_at_rest(char state)
{
    return state == 0 || strchr("TtZX", state);
}

static bool was_stopped(const struct cgroup *group, pid_t pid)
{
    for (size_t i = 0; i < group->n_stopped; i++)
        if (group->stopped[i] == pid)
            return true;
    return false;
}

static FILE *open_list(const struct cgroup *group)
{
    char path[CGROUP_PATH_MAX];

    (void)snprintf(path, sizeof(path), "%s/cgroup.procs", group->name);
    return file_open_stream(cgroup_place_fd(group->host, CGROUP_PIDS), path);
}

/* Returns how many were running. */
static size_t stop_list(struct cgroup *group, pid_t spared)
{
    cleanup_fclose FILE *list = open_list(group);
    size_t running = 0;
    int pid;

    while (list && fscanf(list, "%d", &pid) == 1) {
        char state;

        if (pid <= 0 || pid == spared || pid == getpid())
            continue;
        state = state_of(pid);
        if (!is_at_rest(state)) {
            running++;
            (void)kill(pid, SIGSTOP);
        } else if (state == 'T' && !group->is_frozen && group->n_stopped < CGROUP_STOPPED_MAX) {
            group->stopped[group->n_stopped++] = pid; /* by the program itself: it stays so */
        }
    }
    return running;
}

static void continue_list(const struct cgroup *group, pid_t spared)
{
    cleanup_fclose FILE *list = open_list(group);
    int pid;

    while (list && fscanf(list, "%d", &pid) == 1)
        if (pid > 0 && pid != spared && pid != getpid() && !was_stopped(group, pid))
            (void)kill(pid, SIGCONT);
}

/* False: this kernel has no freezer (v2 before Linux 5.2, or v1). */
static bool set_freezer(const struct cgroup *group, bool is_on)
{
    return group->host->kind == CGROUP_V2 &&
           cgroup_write(group, CGROUP_PIDS, "cgroup.freeze", is_on ? "1" : "0", NULL) == 0;
}

int cgroup_freeze(struct cgroup *group, pid_t spared, bool *ret_is_quiet, struct error *err)
{
    size_t running = 0;

    if (group->host->kind == CGROUP_NONE) {
        error_set(err, E_UNSUPPORTED, "no cgroup has the processes of the sandbox here");
        return error_hint(err, "`belljar doctor` says what this host lacks");
    }
    *ret_is_quiet = true;
    if (set_freezer(group, true)) {
        group->is_frozen = true;
        return 0;
    }
    /* Nothing can fork from here on, and so nothing escapes the list. */
    if (cgroup_write(group, CGROUP_PIDS, "pids.max", "0", err) < 0)
        return -1;
    if (!group->is_frozen)
        group->n_stopped = 0;
    for (int round = 0; round < STOP_ROUNDS; round++) {
        running = stop_list(group, spared);
        group->is_frozen = true;
        if (!running)
            break;
    }
    *ret_is_quiet = !running;
    return 0;
}

int cgroup_thaw(struct cgroup *group, pid_t spared, struct error *err)
{
    if (!group->is_frozen)
        return 0;
    if (!set_freezer(group, false)) {
        if (cgroup_write_u64(group, CGROUP_PIDS, "pids.max", group->limits.processes, err) < 0)
            return -1;
        continue_list(group, spared);
    }
    group->is_frozen = false;
    group->n_stopped = 0;
    return 0;
}
