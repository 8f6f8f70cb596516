#include "terminal/history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/limits.h"

/* A longer file was not written by us. */
#define FILE_MAX (2 * HISTORY_ENTRIES * (HISTORY_ENTRY_MAX + 1) + MIB)

static void replace(char *text, char from, char to)
{
    while ((text = strchr(text, from)))
        *text = to;
}

static int open_own(const char *path, int flags, struct error *err)
{
    cleanup_close int fd =
        open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, S_IRUSR | S_IWUSR);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return error_errno(err, "history `%s`", path);
    if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
        return error_set(err, E_DENIED, "history `%s` is not one of your files", path);
    return take_fd(fd);
}

/* The beginning of the newest lines, and the number of all lines. */
static const char *newest(const struct buf *text, size_t *ret_count)
{
    const char *at = buf_str(text) + text->len;
    size_t count = 0;

    for (const char *p = at; p > buf_str(text); p--) {
        if (p[-1] != '\n')
            continue;
        if (count++ == HISTORY_ENTRIES)
            at = p;
    }
    *ret_count = count;
    return count > HISTORY_ENTRIES ? at : buf_str(text);
}

int history_file_load(const char *path, void (*fn)(void *user, const char *text), void *user,
                      struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(FILE_MAX);
    cleanup_close int fd = open_own(path, O_RDONLY, err);
    const char *from;
    char *line, *rest;
    size_t count;

    if (fd < 0) {
        if (!err || err->errnum != ENOENT)
            return -1;
        error_done(err);
        return 0;
    }
    if (buf_read_fd(&text, fd, err) < 0)
        return error_wrap(err, "history `%s`", path);
    if (!text.len)
        return 0;
    from = newest(&text, &count);
    /* Another prompt may add a line meanwhile, which is then lost: worth less than a lock. */
    if (count > (size_t)2 * HISTORY_ENTRIES && file_replace(path, from, strlen(from), err) < 0)
        return -1;
    rest = text.data + (from - text.data);
    while ((line = strsep(&rest, "\n"))) {
        replace(line, HISTORY_BREAK, '\n');
        if (*line)
            fn(user, line);
    }
    return 0;
}

int history_file_add(const char *path, const char *text, struct error *err)
{
    cleanup(buf_done) struct buf line = BUF_OF(HISTORY_ENTRY_MAX + 1);
    cleanup_close int fd = -1;

    if (strlen(text) > HISTORY_ENTRY_MAX)
        return 0;
    fd = open_own(path, O_WRONLY | O_CREAT | O_APPEND, err);
    if (fd < 0 || buf_add_str(&line, text, err) < 0)
        return -1;
    replace(line.data, '\n', HISTORY_BREAK);
    if (buf_add_str(&line, "\n", err) < 0)
        return -1;
    if (file_write_all(fd, line.data, line.len) < 0)
        return error_errno(err, "history `%s`", path);
    return 0;
}
