/* Files of a git directory that git believes, before they get their name: is this one that git may
 * be given? What each kind is checked for is said in docs/guide/protected.md.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "sandbox/git_index.h"
#include "sandbox/protected.h"

/* The most bytes of one file. */
#define GIT_DATA_BYTES (128u << 20)

struct git_data {
    enum protected_data kind; /* a file's */
    int dir;                  /* the directory on the disk; -1: it is not there yet */
    const char *path;         /* of the file: absolute, on the host, resolved */

    /* Whether a program may not write this (absolute) path of the worktree. Returns the reason, or
     * NULL. */
    const char *(*judge)(void *arg, const char *path);

    /* Opens an (absolute) directory with O_PATH, no link followed; -1: it cannot be had. */
    int (*open)(void *arg, const char *path);
    void *arg;

    /* When it fails: */
    const char *why;
    char entry[GIT_INDEX_PATH]; /* of an index, or "" */
};

/* `now` is the whole content. 0: *ret_data is what is to be written, often the same. -1: it is
 * refused, and data->why says why. */
int git_data_check(struct git_data *data, const struct buf *now, struct buf *ret_data);
