/* Directories in the order of their names, and files of this run with the time of its beginning. */
#include "guest/steady/steady.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- directories: read whole at the first entry, sorted, handed out --- */

struct listing {
    DIR *dir;
    struct dirent64 **entries;
    size_t count, at;
    struct listing *next;
};

static struct listing *listings;
static pthread_mutex_t listings_lock = PTHREAD_MUTEX_INITIALIZER;

static struct listing **find(DIR *dir)
{
    struct listing **place = &listings;

    while (*place && (*place)->dir != dir)
        place = &(*place)->next;
    return place;
}

static void forget(DIR *dir)
{
    struct listing **place, *l;

    (void)pthread_mutex_lock(&listings_lock);
    place = find(dir);
    l = *place;
    if (l)
        *place = l->next;
    (void)pthread_mutex_unlock(&listings_lock);
    if (!l)
        return;
    for (size_t i = 0; i < l->count; i++)
        free(l->entries[i]);
    free(l->entries);
    free(l);
}

static int by_name(const void *a, const void *b)
{
    const struct dirent64 *const *x = a, *const *y = b;

    return strcmp((*x)->d_name, (*y)->d_name);
}

static bool add(struct listing *l, const struct dirent64 *entry)
{
    struct dirent64 **grown = realloc(l->entries, (l->count + 1) * sizeof(struct dirent64 *));
    struct dirent64 *copy = malloc(sizeof(*copy));

    if (grown)
        l->entries = grown;
    if (!grown || !copy) {
        free(copy);
        return false;
    }
    memset(copy, 0, sizeof(*copy));
    memcpy(copy, entry, entry->d_reclen < sizeof(*copy) ? entry->d_reclen : sizeof(*copy));
    copy->d_off = (off64_t)l->count + 1;
    l->entries[l->count++] = copy;
    return true;
}

static struct listing *read_whole(DIR *dir)
{
    static struct dirent64 *(*next)(DIR *);
    struct listing *l = calloc(1, sizeof(*l));
    struct dirent64 *entry;

    NEXT(next, "readdir64");
    if (!l)
        return NULL;
    l->dir = dir;
    while ((entry = next(dir)) && add(l, entry))
        ;
    if (l->count)
        qsort(l->entries, l->count, sizeof(struct dirent64 *), by_name);
    (void)pthread_mutex_lock(&listings_lock);
    l->next = listings;
    listings = l;
    (void)pthread_mutex_unlock(&listings_lock);
    return l;
}

struct dirent64 *readdir64(DIR *dir)
{
    static struct dirent64 *(*next)(DIR *);
    struct listing *l;

    NEXT(next, "readdir64");
    if (!steady_is_on())
        return next(dir);
    (void)pthread_mutex_lock(&listings_lock);
    l = *find(dir);
    (void)pthread_mutex_unlock(&listings_lock);
    if (!l)
        l = read_whole(dir);
    return l && l->at < l->count ? l->entries[l->at++] : NULL;
}

/* The two structs are one on 64-bit machines. */
_Static_assert(sizeof(struct dirent) == sizeof(struct dirent64), "64 bit only");

struct dirent *readdir(DIR *dir)
{
    return (struct dirent *)readdir64(dir);
}

void rewinddir(DIR *dir)
{
    static void (*next)(DIR *);

    NEXT(next, "rewinddir");
    forget(dir);
    next(dir);
}

int closedir(DIR *dir)
{
    static int (*next)(DIR *);

    NEXT(next, "closedir");
    forget(dir);
    return next(dir);
}

/* --- times of files --- */

static void set_time(struct timespec *ts)
{
    uint64_t start = steady_clock_ns(CLOCK_REALTIME, false);

    /* Whole seconds since the clock began: what passed meanwhile is known to nobody. */
    if (steady_is_of_this_run(ts->tv_sec))
        *ts = (struct timespec){.tv_sec = (time_t)(start / NS_PER_S / 86400 * 86400)};
}

static int set_times(int r, struct stat *st)
{
    if (r == 0 && steady_is_on()) {
        set_time(&st->st_atim);
        set_time(&st->st_mtim);
        set_time(&st->st_ctim);
    }
    return r;
}

int fstatat(int dir, const char *restrict path, struct stat *restrict st, int flags)
{
    static int (*next)(int, const char *, struct stat *, int);

    NEXT(next, "fstatat");
    return set_times(next(dir, path, st, flags), st);
}

int fstat(int fd, struct stat *st)
{
    static int (*next)(int, struct stat *);

    NEXT(next, "fstat");
    return set_times(next(fd, st), st);
}

int stat(const char *restrict path, struct stat *restrict st)
{
    return fstatat(AT_FDCWD, path, st, 0);
}

int lstat(const char *restrict path, struct stat *restrict st)
{
    return fstatat(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}

_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "64 bit only");

int fstatat64(int dir, const char *restrict path, struct stat64 *restrict st, int flags)
{
    return fstatat(dir, path, (struct stat *)st, flags);
}

int fstat64(int fd, struct stat64 *st)
{
    return fstat(fd, (struct stat *)st);
}

int stat64(const char *restrict path, struct stat64 *restrict st)
{
    return fstatat(AT_FDCWD, path, (struct stat *)st, 0);
}

int lstat64(const char *restrict path, struct stat64 *restrict st)
{
    return fstatat(AT_FDCWD, path, (struct stat *)st, AT_SYMLINK_NOFOLLOW);
}

static void set_statx_time(struct statx_timestamp *ts)
{
    struct timespec copy = {.tv_sec = (time_t)ts->tv_sec, .tv_nsec = (long)ts->tv_nsec};

    set_time(&copy);
    ts->tv_sec = copy.tv_sec;
    ts->tv_nsec = (uint32_t)copy.tv_nsec;
}

int statx(int dir, const char *restrict path, int flags, unsigned mask, struct statx *restrict st)
{
    static int (*next)(int, const char *, int, unsigned, struct statx *);
    int r;

    NEXT(next, "statx");
    r = next(dir, path, flags, mask, st);
    if (r == 0 && steady_is_on()) {
        set_statx_time(&st->stx_atime);
        set_statx_time(&st->stx_mtime);
        set_statx_time(&st->stx_ctime);
        set_statx_time(&st->stx_btime);
    }
    return r;
}
