/* Making room: old runs go, and of too many the oldest of whoever holds the most. */
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
#include "base/id.h"
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
    char gone[sizeof(GONE) + ID_SIZE];

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

/* One record of the store. */
struct record {
    char id[ID_SIZE];
    char owner[RUN_KEEPER_MAX];
    char *place; /* the first granted directory */
    uint64_t bytes;
    int64_t began_ns;
    bool is_notice; /* of one that was removed before: it holds nothing */
    bool is_kept;   /* somebody holds it */
};

struct pruning {
    int store;
    struct record *records; /* by owner, directory and time */
    size_t count;
    uint64_t total, limit;
    int64_t oldest_ns;
};

static int64_t age_of(int run)
{
    struct stat st;

    return fstat(run, &st) < 0 ? 0 : file_time_ns(&st.st_mtim);
}

static void look_at(int store, struct record *r)
{
    cleanup_close int run = -1;
    struct store_meta meta = {0};

    if (store_open_run(store, r->id, &run, NULL) < 0)
        return;
    r->bytes = bytes_below(run);
    r->is_notice = faccessat(run, STORE_REMOVED, F_OK, 0) == 0;
    if (store_read_meta(run, r->id, &meta, NULL) < 0) {
        r->began_ns = age_of(run);
        return;
    }
    r->began_ns = meta.began_ns;
    (void)snprintf(r->owner, sizeof(r->owner), "%s", meta.owner);
    for (size_t i = 0; i < meta.n_grants && !r->place; i++)
        r->place = take_ptr(meta.grants[i].path);
    store_meta_done(&meta);
}

static int compare(const void *a, const void *b)
{
    const struct record *one = a, *other = b;
    int r = strcmp(one->owner, other->owner);

    if (r == 0)
        r = strcmp(one->place ? one->place : "", other->place ? other->place : "");
    if (r == 0)
        r = (one->began_ns > other->began_ns) - (one->began_ns < other->began_ns);
    return r ? r : strcmp(one->id, other->id);
}

static void pruning_done(struct pruning *p)
{
    for (size_t i = 0; i < p->count; i++)
        free(p->records[i].place);
    free(p->records);
}

/* --- one record --- */

/* Nobody writes in it: a run that goes on, or an undo. */
static bool is_free(int store, const char *id, int *ret_run, int *ret_changes)
{
    return store_open_run(store, id, ret_run, NULL) == 0 &&
           store_open_changes(*ret_run, id, ret_changes, NULL) == 0;
}

static void prune_old(struct pruning *p, struct record *r)
{
    cleanup_close int run = -1, changes = -1;
    /* A directory without `changes` is one that was being made, now or before a crash. */
    bool is_unfinished = !is_free(p->store, r->id, &run, &changes) && !r->is_notice && run >= 0 &&
                         faccessat(run, "changes", F_OK, 0) < 0 &&
                         r->began_ns < entry_now() - HOUR_NS;

    if (is_unfinished || (r->began_ns < p->oldest_ns && (changes >= 0 || r->is_notice))) {
        if (store_remove(p->store, r->id, NULL) == 0) {
            p->total -= r->bytes;
            r->bytes = 0;
            r->is_kept = true;
            r->is_notice = false;
        }
    }
}

/* The contents go; who the run was stays, so that its owner is told. */
static void prune_large(struct pruning *p, struct record *r)
{
    cleanup_close int run = -1, changes = -1;
    char gone[sizeof(GONE) + ID_SIZE];

    r->is_kept = true;
    (void)snprintf(gone, sizeof(gone), GONE "%s", r->id);
    if (!is_free(p->store, r->id, &run, &changes) ||
        store_write_text(run, STORE_REMOVED, "space\n", 6, NULL) < 0 ||
        renameat(run, "changes", p->store, gone) < 0)
        return;
    (void)unlinkat(run, "undone", 0);
    (void)unlinkat(run, "marks", 0);
    (void)unlinkat(run, "twins", 0);
    store_delete_tree(p->store, gone);
    p->total -= r->bytes;
    r->bytes = 0;
    r->is_notice = true;
}

/* --- whose --- */

static bool is_same_owner(const struct record *a, const struct record *b)
{
    return strcmp(a->owner, b->owner) == 0;
}

static bool is_same_place(const struct record *a, const struct record *b)
{
    return is_same_owner(a, b) && strcmp(a->place ? a->place : "", b->place ? b->place : "") == 0;
}

static uint64_t bytes_in(const struct record *r)
{
    return r->bytes;
}

static uint64_t notices_in(const struct record *r)
{
    return r->is_notice;
}

/* Of the records from `first` to `end`, the group with the largest sum. A record that cannot be
 * removed counts for its group, but a group without any other is passed over if `has_free`. */
static struct record *largest(struct record *first, const struct record *end,
                              bool (*is_same)(const struct record *, const struct record *),
                              uint64_t (*measure)(const struct record *), bool has_free,
                              struct record **ret_end)
{
    struct record *best = NULL, *next;
    uint64_t most = 0;

    for (struct record *at = first; at < end; at = next) {
        uint64_t sum = 0;
        bool is_usable = !has_free;

        for (next = at; next < end && is_same(at, next); next++) {
            sum += measure(next);
            is_usable |= measure(next) && !next->is_kept;
        }
        if (is_usable && sum > most) {
            most = sum;
            best = at;
            *ret_end = next;
        }
    }
    return best;
}

/* The owner that holds the most loses records, from the directory that holds the most, the oldest
 * first: no owner can displace another's records. While the largest owner has only runs in
 * progress, nothing is removed. */
static struct record *next_to_go(const struct pruning *p)
{
    struct record *end = p->records + p->count;
    struct record *owner = largest(p->records, end, is_same_owner, bytes_in, false, &end);
    struct record *place = owner ? largest(owner, end, is_same_place, bytes_in, true, &end) : NULL;

    while (place && place < end && (place->is_kept || !place->bytes))
        place++;
    return place && place < end ? place : NULL;
}

static void prune_notices(struct pruning *p)
{
    size_t count = 0;

    for (size_t i = 0; i < p->count; i++)
        count += p->records[i].is_notice;
    for (; count > LIMIT_UNDO_LISTED; count--) {
        struct record *end = p->records + p->count;
        struct record *at = largest(p->records, end, is_same_owner, notices_in, false, &end);

        while (at && !at->is_notice)
            at++;
        if (!at)
            return;
        at->is_notice = false;
        (void)store_remove(p->store, at->id, NULL);
    }
}

/* Left by a process that was killed while it removed them. */
static void remove_leftovers(int store)
{
    cleanup_closedir DIR *names = file_open_dir(store, ".");
    const struct dirent *entry;

    while (names && (entry = readdir(names)))
        if (strncmp(entry->d_name, GONE, strlen(GONE)) == 0)
            store_delete_tree(store, entry->d_name);
}

static int look_at_all(struct pruning *p, struct error *err)
{
    cleanup_free char(*ids)[ID_SIZE] = NULL;
    size_t count = 0;

    if (store_ids(p->store, &ids, &count, err) < 0)
        return -1;
    p->records = calloc(count + 1, sizeof(*p->records));
    if (!p->records)
        return error_memory(err);
    p->count = count;
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(p->records[i].id, sizeof(p->records[i].id), "%s", ids[i]);
        look_at(p->store, &p->records[i]);
        p->total += p->records[i].bytes;
    }
    qsort(p->records, count, sizeof(*p->records), compare);
    return 0;
}

int undo_store_prune(uint64_t total_bytes, unsigned days, struct error *err)
{
    cleanup(pruning_done) struct pruning p = {.limit = total_bytes};
    cleanup_close int store = -1;
    struct record *r;

    if (store_open(&store, err) < 0)
        return -1;
    if (flock(store, LOCK_EX | LOCK_NB) < 0)
        return 0; /* somebody else is at it */
    remove_leftovers(store);
    p.store = store;
    p.oldest_ns = days ? entry_now() - (int64_t)days * 86400 * 1000000000 : INT64_MIN;
    if (look_at_all(&p, err) < 0)
        return -1;
    for (size_t i = 0; i < p.count; i++)
        prune_old(&p, &p.records[i]);
    while (p.total > p.limit && (r = next_to_go(&p)))
        prune_large(&p, r);
    prune_notices(&p);
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
