#include "sandbox/tree_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Directories that are moved while their ancestors are looked for. */
#define ATTEMPTS_MAX 8

/* Even, and small enough for an offset with one added. */
static uint64_t offset_of(const struct stat *st)
{
    uint64_t x = (uint64_t)st->st_ino ^ (uint64_t)st->st_dev * UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (x ^ x >> 31) >> 3 << 1;
}

/* --- which directories --- */

static int add_key(struct tree_lock *l, const struct stat *st, bool is_root, struct error *err)
{
    if (l->n_keys == TREE_KEYS_MAX) {
        (void)error_set(err, E_TOO_LARGE, "the granted directories lie below more than %d others",
                        TREE_KEYS_MAX);
        return error_hint(err, "grant fewer directories, or a directory above them");
    }
    l->keys[l->n_keys++] = (struct tree_key){offset_of(st), is_root};
    return 0;
}

/* The directory and all above it. ".." of "/" is "/". */
static int add_tree(struct tree_lock *l, int root, struct error *err)
{
    cleanup_close int dir = openat(root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct stat st, before;

    if (dir < 0 || fstat(dir, &st) < 0)
        return error_errno(err, "open a granted directory");
    if (add_key(l, &st, true, err) < 0)
        return -1;
    for (;;) {
        int up = openat(dir, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

        if (up < 0)
            return error_errno(err, "open a directory above a granted one");
        (void)close(dir);
        dir = up;
        before = st;
        if (fstat(dir, &st) < 0)
            return error_errno(err, "look at a directory above a granted one");
        if (st.st_dev == before.st_dev && st.st_ino == before.st_ino)
            return 0;
        if (add_key(l, &st, false, err) < 0)
            return -1;
    }
}

static int compare_keys(const void *a, const void *b)
{
    const struct tree_key *x = a, *y = b;

    return x->at < y->at ? -1 : x->at > y->at;
}

static void sort_keys(struct tree_lock *l)
{
    size_t count = 0;

    qsort(l->keys, l->n_keys, sizeof(*l->keys), compare_keys);
    for (size_t i = 0; i < l->n_keys; i++)
        if (count && l->keys[count - 1].at == l->keys[i].at)
            l->keys[count - 1].is_root |= l->keys[i].is_root;
        else
            l->keys[count++] = l->keys[i];
    l->n_keys = count;
}

static int find_keys(struct tree_lock *l, const int *roots, size_t n_roots, struct error *err)
{
    l->n_keys = 0;
    for (size_t i = 0; i < n_roots; i++)
        if (roots[i] >= 0 && add_tree(l, roots[i], err) < 0)
            return -1;
    sort_keys(l);
    return 0;
}

/* --- locks --- */

static int lock_bytes(int fd, int command, short type, uint64_t at, uint64_t len)
{
    struct flock range = {
        .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)at, .l_len = (off_t)len};
    int r;

    while ((r = fcntl(fd, command, &range)) < 0 && errno == EINTR)
        ;
    return r;
}

static int take_root(int fd, uint64_t at)
{
    return lock_bytes(fd, F_OFD_SETLKW, F_WRLCK, at, 1) < 0
               ? -1
               : lock_bytes(fd, F_OFD_SETLKW, F_WRLCK, at + 1, 1);
}

/* Both bytes at once: a process that waits for the first must not hold the second. */
static int take_ancestor(int fd, uint64_t at)
{
    return lock_bytes(fd, F_OFD_SETLKW, F_RDLCK, at, 2) < 0
               ? -1
               : lock_bytes(fd, F_OFD_SETLK, F_UNLCK, at, 1);
}

int tree_lock_take(const struct tree_lock *l)
{
    for (size_t i = 0; i < l->n_keys; i++) {
        const struct tree_key *key = &l->keys[i];

        if ((key->is_root ? take_root(l->fd, key->at) : take_ancestor(l->fd, key->at)) < 0) {
            int saved = errno;

            tree_lock_release(l);
            errno = saved;
            return -1;
        }
    }
    return 0;
}

void tree_lock_release(const struct tree_lock *l)
{
    (void)lock_bytes(l->fd, F_OFD_SETLK, F_UNLCK, 0, 0);
}

/* --- marks --- */

static int mark(const struct tree_lock *l, struct error *err)
{
    (void)lock_bytes(l->marks, F_OFD_SETLK, F_UNLCK, 0, 0);
    for (size_t i = 0; i < l->n_keys; i++)
        if (lock_bytes(l->marks, F_OFD_SETLK, F_RDLCK, l->keys[i].at, 1) < 0)
            return error_errno(err, "mark the granted directories");
    return 0;
}

bool tree_lock_is_marked(const struct tree_lock *l, const struct stat *st)
{
    struct flock range = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)offset_of(st), .l_len = 1};

    return fcntl(l->marks, F_OFD_GETLK, &range) < 0 || range.l_type != F_UNLCK;
}

/* --- open and close --- */

static int open_file(const char *path, const char *suffix, int *ret_fd, struct error *err)
{
    cleanup_free char *whole = NULL;

    if (asprintf(&whole, "%s%s", path, suffix) < 0) {
        whole = NULL;
        return error_memory(err);
    }
    *ret_fd = open(whole, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    return *ret_fd < 0 ? error_errno(err, "open `%s`", whole) : 0;
}

static bool is_same(const struct tree_lock *l, const struct tree_key *keys, size_t count)
{
    if (count != l->n_keys)
        return false;
    for (size_t i = 0; i < count; i++)
        if (keys[i].at != l->keys[i].at || keys[i].is_root != l->keys[i].is_root)
            return false;
    return true;
}

/* Directories found before the marks were set may have been moved since. Once the marks are those
 * of the present ancestors, no broker moves them. */
static int settle(struct tree_lock *l, const int *roots, size_t n_roots, struct error *err)
{
    cleanup_free struct tree_key *before = calloc(TREE_KEYS_MAX, sizeof(*before));
    size_t n_before;

    if (!before)
        return error_memory(err);
    if (find_keys(l, roots, n_roots, err) < 0)
        return -1;
    for (int i = 0; i < ATTEMPTS_MAX; i++) {
        memcpy(before, l->keys, l->n_keys * sizeof(*before));
        n_before = l->n_keys;
        if (mark(l, err) < 0 || find_keys(l, roots, n_roots, err) < 0)
            return -1;
        if (is_same(l, before, n_before))
            return 0;
    }
    (void)error_set(err, E_SYSTEM, "the directories above a granted one are being moved");
    return error_hint(err, "run the program again");
}

int tree_lock_open(const char *path, const int *roots, size_t n_roots, struct tree_lock *ret_lock,
                   struct error *err)
{
    *ret_lock = (struct tree_lock)TREE_LOCK_INIT;
    ret_lock->keys = calloc(TREE_KEYS_MAX, sizeof(*ret_lock->keys));
    if (!ret_lock->keys)
        return error_memory(err);
    if (open_file(path, "", &ret_lock->fd, err) < 0 ||
        open_file(path, ".marks", &ret_lock->marks, err) < 0 ||
        settle(ret_lock, roots, n_roots, err) < 0) {
        tree_lock_close(ret_lock);
        return -1;
    }
    return 0;
}

void tree_lock_close(struct tree_lock *l)
{
    close_fd(&l->fd);
    close_fd(&l->marks);
    free(l->keys);
    l->keys = NULL;
    l->n_keys = 0;
}
