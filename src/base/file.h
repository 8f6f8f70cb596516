/* Small files of Linux and of ours: read whole, write whole, always relative to a directory
 * fd. */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/error.h"

/* Reads at most size-1 bytes and adds the NUL; trailing newlines are cut. Returns the length or
 * -errno. */
int file_read(int dirfd, const char *path, char *text, size_t size);

/* Writes the text with one write(2), as control files of Linux want it. Returns 0 or -errno.
 */
int file_write(int dirfd, const char *path, const char *text);

/* Like file_write(), with a printf format. */
int file_printf(int dirfd, const char *path, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* All of it, to a pipe, a terminal or a file, waiting where that takes time. -1 with errno. */
int file_write_all(int fd, const void *data, size_t len);

/* Writes the file beside `path` and then puts it in its place: whoever reads it, now or after a
 * crash, finds the old one or the new one. Only the owner may read it. Two who write at once need a
 * lock. */
int file_replace(const char *path, const void *data, size_t len, struct error *err);

/* To be read line by line, or entry by entry. NULL with errno. A directory has a descriptor of its
 * own even where the path is "." of `dirfd`. */
FILE *file_open_stream(int dirfd, const char *path);
DIR *file_open_dir(int dirfd, const char *path);

/* Whether three quarters of the descriptors that this process may have are in use. What a client
 * can ask for again and again, and what can be done without, is refused then: the rest is for
 * connections and sandboxes. */
bool file_descriptors_are_scarce(void);

static inline int64_t file_time_ns(const struct timespec *at)
{
    return (int64_t)((uint64_t)at->tv_sec * 1000000000u + (uint64_t)at->tv_nsec);
}

/* One and the same file. */
static inline bool file_is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* True for one file that nobody has written to or changed in between. */
static inline bool file_is_unchanged(const struct stat *a, const struct stat *b)
{
    return file_is_same(a, b) && a->st_size == b->st_size &&
           file_time_ns(&a->st_mtim) == file_time_ns(&b->st_mtim) &&
           file_time_ns(&a->st_ctim) == file_time_ns(&b->st_ctim);
}
