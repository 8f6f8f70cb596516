/* Locks on granted directories: whoever judges a change and then makes it holds them meanwhile.
 *
 * What the lock protects. A judgement depends on the path of a place, on what lies beside it and on
 * what lies above it, up to the granted directory. Another broker, or an undo, could change these
 * between judgement and act only if it may write to a directory that both trees contain. Two
 * directory trees share a directory only if one root is the other or lies below it.
 *
 * So each holder locks the roots of its own trees exclusively, and every directory above them
 * shared. Holders with the same root, or with one root above the other, wait for each other. All
 * others meet only at common ancestors, which both lock shared: they never wait.
 *
 * Directories are known by device and inode number, so a second path to one makes no difference.
 * Locks are bytes of one file, at an offset that is a hash of these numbers. Two directories with
 * the same hash only cause needless waiting. All locks are taken in ascending order of the offset,
 * so holders cannot wait for each other in a circle. Each directory has two bytes. An exclusive
 * holder that waits for the second already has the first, so that a stream of shared holders
 * cannot keep it waiting forever.
 *
 * The directories above a root are found once. This is enough as long as no sandbox moves the root
 * or a directory above it. For that, the root and all directories above it are marked in a second
 * file for as long as the lock is open; a broker does not move a marked directory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"

#define TREE_KEYS_MAX 1024

/* A directory. In ascending order of `at`, each once. */
struct tree_key {
    uint64_t at;
    bool is_root;
};

struct tree_lock {
    int fd;    /* of the file with the locks; -1: closed */
    int marks; /* of the file with the marks; -1: closed */
    struct tree_key *keys;
    size_t n_keys;
};

#define TREE_LOCK_INIT                                                                             \
    {                                                                                              \
        .fd = -1, .marks = -1                                                                      \
    }

/* Opens the files `path` and `path` with ".marks" behind it, and marks the directories. `roots` are
 * descriptors of directories, on mounts from which ".." leads up to "/"; those below 0 are left
 * out.
 */
int tree_lock_open(const char *path, const int *roots, size_t n_roots, struct tree_lock *ret_lock,
                   struct error *err);
void tree_lock_close(struct tree_lock *lock);

/* 0, or -1 and errno: nothing is locked. Waits for others. */
int tree_lock_take(const struct tree_lock *lock);
void tree_lock_release(const struct tree_lock *lock);

/* Whether the directory is a root of somebody else's lock, or above one. */
bool tree_lock_is_marked(const struct tree_lock *lock, const struct stat *st);
