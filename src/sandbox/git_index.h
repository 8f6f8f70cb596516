/* An index of git, written by a program that is not trusted: which of it may git be given?
 *
 * `git checkout .` and its like write every entry of the index to its path, and git itself does not
 * look at the paths of an index that it has read. So a new index is parsed here as strictly as git
 * writes it, compared with the one before it, and written anew: entries as they are, of the
 * extensions only those that say nothing but what the entries say.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* The most bytes of an index; that is more than half a million entries. */
#define GIT_INDEX_BYTES (64u << 20)

#define GIT_INDEX_PATH 256

struct git_index_check {
    unsigned id_bytes; /* of the repository's digest: 20 or 32 */

    /* Asked for each entry that was not in the index before with the same mode and object. Returns
     * NULL, or the reason why the entry cannot be taken. `path` is from the top of the worktree. */
    const char *(*judge)(void *arg, const char *path, uint32_t mode, const uint8_t *id);
    void *arg;

    /* When it fails: */
    const char *why;           /* a clause for people */
    char path[GIT_INDEX_PATH]; /* the entry, cut where it is long; "": the whole */
};

/* 0: *ret_index is what may be put in place of `now`; often the same bytes. `old` is the index
 * before, or len 0. One that cannot be read counts as none. -1: refused, see check->why. */
int git_index_check(struct git_index_check *check, const void *now, size_t now_len, const void *old,
                    size_t old_len, struct buf *ret_index);
