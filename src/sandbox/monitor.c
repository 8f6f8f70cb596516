#include "sandbox/monitor.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/kcmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"

/* A sandbox has a limit on processes; deeper or wider than this is no tree of ours. */
#define DEPTH_MAX 64

pid_t monitor_pid(int pidfd)
{
    char path[64], text[1024];
    const char *line;
    int pid;

    (void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
    if (file_read(AT_FDCWD, path, text, sizeof(text)) < 0)
        return -1;
    line = strstr(text, "\nPid:");
    return line && sscanf(line, "\nPid: %d", &pid) == 1 ? pid : -1;
}

/* "NAME   123 kB" */
static uint64_t bytes_of(const char *text, const char *name)
{
    const char *line = strstr(text, name);

    return line ? strtoull(line + strlen(name), NULL, 10) * 1024 : 0;
}

/* Without a user namespace of ours Linux does not show how the memory of a kernel is shared, since
 * that is not dumpable. What is its own is counted in full, also where it shares it with the
 * process it was forked from. */
static void read_own_memory(pid_t pid, struct monitor_usage *usage)
{
    char path[64], text[4096];
    uint64_t bytes;

    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    if (file_read(AT_FDCWD, path, text, sizeof(text)) < 0)
        return;
    bytes = bytes_of(text, "\nRssAnon:") + bytes_of(text, "\nVmSwap:");
    usage->memory_bytes += bytes;
    usage->private_bytes += bytes;
}

static void read_memory(pid_t pid, struct monitor_usage *usage)
{
    char path[64], text[2048];

    (void)snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
    if (file_read(AT_FDCWD, path, text, sizeof(text)) < 0) {
        read_own_memory(pid, usage);
        return;
    }
    usage->memory_bytes += bytes_of(text, "\nPss:");
    usage->shared_bytes += bytes_of(text, "\nPss_Shmem:");
    usage->private_bytes += bytes_of(text, "\nPrivate_Clean:") + bytes_of(text, "\nPrivate_Dirty:");
}

/* Fields 14 to 17 (own and reaped children's time) and 20 (threads) of stat; the name in field 2
 * may hold anything, so count from its closing parenthesis. */
static void read_stat(pid_t pid, struct monitor_usage *usage)
{
    char path[64], text[1024];
    const char *at;
    uint64_t user, system;
    int64_t child_user, child_system, threads;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    if (file_read(AT_FDCWD, path, text, sizeof(text)) < 0)
        return;
    at = strrchr(text, ')');
    if (!at || sscanf(at,
                      ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64
                      " %" SCNd64 " %" SCNd64 " %*d %*d %" SCNd64,
                      &user, &system, &child_user, &child_system, &threads) != 5)
        return;
    usage->cpu_ms += (user + system + (uint64_t)child_user + (uint64_t)child_system) * 1000 /
                     (uint64_t)sysconf(_SC_CLK_TCK);
    usage->processes += (uint32_t)threads;
}

/* Returns whether the process itself was found to have memory. */
static bool add(pid_t pid, bool has_memory, int depth, struct monitor_usage *usage);

/* Two processes with one memory (a holder and its kernel) count once. Where the kernel cannot tell,
 * they count twice, which errs on the safe side. */
static bool shares_memory(pid_t a, pid_t b)
{
    return a > 0 && syscall(SYS_kcmp, a, b, KCMP_VM, 0, 0) == 0;
}

/* The first of the children that has one memory with the eldest; -1: none. */
static pid_t find_twin(const char *path)
{
    cleanup_fclose FILE *list = fopen(path, "re");
    pid_t first = -1;
    int child;

    while (list && fscanf(list, "%d", &child) == 1) {
        if (shares_memory(first, child))
            return child;
        if (first < 0)
            first = child;
    }
    return -1;
}

/* Of a kernel and its holder, either may end while we look, and is then like no other process: who
 * belongs together is asked before anything is read. A holder is a child of pid 1. */
static void add_children(const char *path, int depth, struct monitor_usage *usage)
{
    pid_t first = -1, twin = depth == 1 ? find_twin(path) : -1;
    cleanup_fclose FILE *list = fopen(path, "re");
    bool is_counted = false;
    int child;

    while (list && fscanf(list, "%d", &child) == 1) {
        bool is_same = is_counted && (child == twin || shares_memory(first, child));
        bool has_memory = add(child, !is_same, depth, usage);

        if (first < 0) {
            first = child;
            is_counted = has_memory;
        }
    }
}

/* A child belongs to the thread that made it, so every thread is asked. */
static bool add(pid_t pid, bool has_memory, int depth, struct monitor_usage *usage)
{
    cleanup_closedir DIR *tasks = NULL;
    uint64_t before = usage->memory_bytes;
    struct dirent *entry;
    char path[PATH_MAX];
    bool is_found;

    if (has_memory)
        read_memory(pid, usage);
    is_found = usage->memory_bytes > before;
    read_stat(pid, usage);
    if (depth == DEPTH_MAX)
        return is_found;
    (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    tasks = opendir(path);
    while (tasks && (entry = readdir(tasks))) {
        if (entry->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof(path), "/proc/%d/task/%s/children", (int)pid, entry->d_name);
        add_children(path, depth + 1, usage);
    }
    return is_found;
}

/* Threads count, as they do for RLIMIT_NPROC. */
static uint32_t count_threads(const char *pid)
{
    char path[64];
    struct stat st;

    (void)snprintf(path, sizeof(path), "/proc/%.16s/task", pid);
    return stat(path, &st) == 0 && st.st_nlink > 2 ? (uint32_t)st.st_nlink - 2 : 1;
}

/* Of a process that cannot be looked into the directory is root's, so all are asked by `status`. */
static bool is_of(const char *pid, uid_t wanted)
{
    cleanup_fclose FILE *file = NULL;
    char path[64], line[256];
    unsigned uid;

    (void)snprintf(path, sizeof(path), "/proc/%.16s/status", pid);
    file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, "Uid: %u", &uid) == 1)
            return uid == wanted;
    return false;
}

uint32_t monitor_user_processes(uid_t uid)
{
    cleanup_closedir DIR *proc = opendir("/proc");
    struct dirent *entry;
    uint32_t count = 0;

    while (proc && (entry = readdir(proc)))
        if (isdigit((unsigned char)entry->d_name[0]) && is_of(entry->d_name, uid))
            count += count_threads(entry->d_name);
    return count;
}

/* "sockets: used 12": of the network namespace, which is the sandbox's own. */
static uint32_t count_sockets(pid_t init)
{
    char path[64], text[1024];
    uint32_t used;

    (void)snprintf(path, sizeof(path), "/proc/%d/net/sockstat", (int)init);
    if (file_read(AT_FDCWD, path, text, sizeof(text)) < 0 ||
        sscanf(text, "sockets: used %" SCNu32, &used) != 1)
        return 0;
    return used;
}

void monitor_read(pid_t init, struct monitor_usage *ret_usage)
{
    *ret_usage = (struct monitor_usage){0};
    if (init <= 0)
        return;
    (void)add(init, true, 0, ret_usage);
    ret_usage->sockets = count_sockets(init);
}
