#include "engine/remembered_hosts.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/paths.h"

#define NAME       "hosts"
#define FILE_BYTES (LIMIT_NET_REMEMBERED * (size_t)272)

/* Whether it is there: a regular file of ours that nobody else could have written. */
static bool read_lines(const char *path, struct buf *text)
{
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
    struct stat st;

    buf_init(text, FILE_BYTES);
    return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
           !(st.st_mode & (S_IWGRP | S_IWOTH)) && buf_read_fd(text, fd, NULL) == 0;
}

static bool has_line(const struct buf *text, const char *grant, size_t *ret_lines)
{
    const char *at = buf_str(text);
    size_t len = strlen(grant);

    *ret_lines = 0;
    while (*at) {
        size_t line = strcspn(at, "\n");

        if (line == len && memcmp(at, grant, len) == 0)
            return true;
        ++*ret_lines;
        at += line + (at[line] == '\n');
    }
    return false;
}

bool remembered_hosts_has(const char *grant)
{
    cleanup_free char *path = paths_state(NAME, NULL);
    cleanup(buf_done) struct buf text = {0};
    size_t lines;

    return path && read_lines(path, &text) && has_line(&text, grant, &lines);
}

int remembered_hosts_add(const char *grant, struct error *err)
{
    cleanup_free char *path = paths_state(NAME, err), *lock_path = paths_state(NAME ".lock", err);
    cleanup(buf_done) struct buf text = {0};
    cleanup_close int lock = -1;
    size_t lines;

    if (!path || !lock_path)
        return -1;
    lock = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    /* Another process is at it for a moment at most; whoever is later says so. */
    if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) < 0)
        return error_errno(err, "lock `%s`", lock_path);
    if (!read_lines(path, &text))
        buf_clear(&text);
    if (has_line(&text, grant, &lines))
        return 0;
    if (lines >= LIMIT_NET_REMEMBERED) {
        error_set(err, E_TOO_LARGE, "`%s` has %d hosts", path, LIMIT_NET_REMEMBERED);
        return error_hint(err, "delete those that are no longer needed");
    }
    if ((text.len && buf_str(&text)[text.len - 1] != '\n' && buf_add_str(&text, "\n", err) < 0) ||
        buf_printf(&text, err, "%s\n", grant) < 0)
        return -1;
    return file_replace(path, buf_str(&text), text.len, err);
}
