#include "store/log_sync.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

struct log_sync {
    char *path, *log_path;
    struct group_sync *group;
    bool is_known; /* the directory has the names of the files on the disk */
};

/* SQLite makes the log with the first commit. fdatasync(2) of a file says nothing of its name. */
static int sync_names(struct log_sync *sync)
{
    cleanup_free char *copy = sync->is_known ? NULL : strdup(sync->path);
    cleanup_close int dir = -1;

    if (sync->is_known)
        return 0;
    dir = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (dir < 0 || fsync(dir) < 0)
        return -1;
    sync->is_known = true;
    return 0;
}

/* Only the log: to close a descriptor of the file itself would take SQLite's locks. A log that was
 * brought into the file is empty, and that was done with the syncs it takes (store/checkpoint.c). A
 * log that is gone was removed by somebody, with what was in it. */
static int open_log(void *user)
{
    struct log_sync *sync = user;
    cleanup_close int fd = open(sync->log_path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    return fd < 0 || sync_names(sync) < 0 ? -EIO : take_fd(fd);
}

void log_sync_wait(struct log_sync *sync, struct group_sync_wait *wait)
{
    group_sync_wait(sync->group, wait);
}

int log_sync_new(struct loop *loop, const char *path, struct log_sync **ret_sync, struct error *err)
{
    struct log_sync *sync = calloc(1, sizeof(*sync));
    const struct group_sync_target log = {.open = open_log, .user = sync};

    if (!sync)
        return error_memory(err);
    sync->path = strdup(path);
    if (asprintf(&sync->log_path, "%s-wal", path) < 0)
        sync->log_path = NULL;
    if (!sync->path || !sync->log_path) {
        log_sync_free(sync);
        return error_memory(err);
    }
    if (group_sync_new(loop, &log, &sync->group, err) < 0) {
        log_sync_free(sync);
        return -1;
    }
    *ret_sync = sync;
    return 0;
}

void log_sync_free(struct log_sync *sync)
{
    if (!sync)
        return;
    group_sync_free(sync->group);
    free(sync->path);
    free(sync->log_path);
    free(sync);
}
