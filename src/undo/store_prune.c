/* Making room: old runs go, and the oldest of too many. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/limits.h"
#include "undo/entry.h"
#include "undo/store_internal.h"

#define GONE    ".gone-"
#define HOUR_NS (INT64_C(3600) * 1000000000)

/* Our own directories: no deeper than RUN/changes/saved/N. */
#define DEPTH_MAX 6

static void delete_below(int dir, const char *name, unsigned depth)
{
    cleanup_close int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    cleanup_closedir DIR *names = fd < 0 || depth == 0 ? NULL : file_open_dir(fd, ".");
    const struct dirent *entry;

    while (names && (entry = readdir(names))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (unlinkat(fd, entry->d_name, 0) < 0 && (errno == EISDIR || errno == EPERM))
            delete_below(fd, entry->d_name, depth - 1);
    }
    (void)unlinkat(dir, name, AT_REMOVEDIR);
}

void store_delete_tree(int store, const char *name)
{
    delete_below(store, name, DEPTH_MAX);
}

int store_remove(int store, const char *id, struct error *err)
{
    char gone[48];

    (void)snprintf(gone, sizeof(gone), GONE "%s", id);
    if (renameat(store, id, store, gone) < 0)
        return error_errno(err, "remove the changes of a run");
    store_delete_tree(store, gone);
    return 0;
}

/* --- which ones --- */

static uint64_t bytes_of(int dir, const char *name)
{
    struct stat st;

    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? 0 : (uint64_t)st.st_blocks * 512;
}

static uint64_t bytes_below(int run)
{
    cleanup_close int saved =
        openat(run, "changes/saved", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    cleanup_closedir DIR *names = saved < 0 ? NULL : file_open_dir(saved, ".");
    uint64_t sum = bytes_of(run, "changes/journal") + bytes_of(run, "undone");
    const struct dirent *entry;

    while (names && (entry = readdir(names)))
        if (entry->d_name[0] != '.')
            sum += bytes_of(saved, entry->d_name);
    return sum;
}

struct pruning {
    int store;
    uint64_t total, limit;
    int64_t oldest_ns;
};

static uint64_t size_of(int store, const char *id)
{
    cleanup_close int run = -1;

    return store_open_run(store, id, &run, NULL) < 0 ? 0 : bytes_below(run);
}

static int64_t age_of(int run)
{
    struct stat st;

    return fstat(run, &st) < 0 ? 0 : entry_time(&st.st_mtim);
}

static void prune_one(struct pruning *p, const char *id)
{
    cleanup_close int run = -1, changes = -1;
    struct store_meta meta = {0};
    int64_t began;

    if (store_open_run(p->store, id, &run, NULL) < 0)
        return;
    began = store_read_meta(run, id, &meta, NULL) < 0 ? age_of(run) : meta.began_ns;
    store_meta_done(&meta);
    /* A directory without `changes` is one that was being made, now or before a crash. */
    if ((p->total > p->limit || began < p->oldest_ns) &&
        (store_open_changes(run, id, &changes, NULL) == 0 ||
         (faccessat(run, "changes", F_OK, 0) < 0 && began < entry_now() - HOUR_NS))) {
        uint64_t bytes = bytes_below(run);

        if (store_remove(p->store, id, NULL) == 0)
            p->total -= bytes < p->total ? bytes : p->total;
    }
}

/* Of a process that was killed while it removed them. */
static void remove_leftovers(int store)
{
    cleanup_closedir DIR *names = file_open_dir(store, ".");
    const struct dirent *entry;

    while (names && (entry = readdir(names)))
        if (strncmp(entry->d_name, GONE, strlen(GONE)) == 0)
            store_delete_tree(store, entry->d_name);
}

int undo_store_prune(uint64_t total_bytes, unsigned days, struct error *err)
{
    struct pruning p = {.store = -1, .limit = total_bytes};
    cleanup_free char(*ids)[32] = NULL;
    cleanup_close int store = -1;
    size_t count = 0;

    if (store_open(&store, err) < 0)
        return -1;
    if (flock(store, LOCK_EX | LOCK_NB) < 0)
        return 0; /* somebody else is at it */
    remove_leftovers(store);
    if (store_ids(store, &ids, &count, err) < 0)
        return -1;
    p.store = store;
    p.oldest_ns = days ? entry_now() - (int64_t)days * 86400 * 1000000000 : INT64_MIN;
    for (size_t i = 0; i < count; i++)
        p.total += size_of(store, ids[i]);
    for (size_t i = 0; i < count; i++)
        prune_one(&p, ids[i]);
    return 0;
}

void undo_store_prune_aside(const struct config *config)
{
    pid_t pid = fork();

    if (pid == 0) {
        /* Twice: nobody has to wait for the one that does it. */
        if (fork() != 0)
            _exit(0);
        (void)setsid();
        (void)signal(SIGTERM, SIG_DFL);
        (void)signal(SIGINT, SIG_DFL);
        (void)close_range(0, 2, 0);
        (void)close_range(3, ~0U, 0);
        (void)undo_store_prune((uint64_t)config->undo_total_mb * MIB, (unsigned)config->undo_days,
                               NULL);
        _exit(0);
    }
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}
