#include "sandbox/tree_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "sandbox/files_internal.h"

#define EVENTS                                                                                     \
    (IN_CREATE | IN_MODIFY | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB |                 \
     IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR | IN_EXCL_UNLINK)

/* Read at once; after one that is half full the watch rests. */
#define PIECE_BYTES ((size_t)4096)
#define REST_MS     20

/* Of a piece, that are looked at in one go: each may give all directories another name. */
#define EVENTS_AT_ONCE 8

/* Names of a directory that are looked at in one turn, and in all. */
#define SCAN_NAMES     64
#define SCAN_NAMES_MAX 20000

struct directory {
    int wd;
    char *path;  /* from the top on; "": it is the top */
    bool is_due; /* what is in it is to be looked at, */
    bool is_new; /* and is told as created */
};

/* A directory that is being looked at. */
struct scan {
    struct files_names names; /* fd -1: none is */
    char *path;
    bool is_new;
    size_t seen;
};

struct tree_watch {
    struct tree_watch_options options;
    struct files files;
    char *top;
    int fd;
    struct loop_watch *readable; /* or NULL */
    struct loop_watch *rest;
    struct loop_work scanning, taking;
    char *piece; /* what was read last */
    size_t at, len;
    struct directory *directories; /* by wd */
    size_t count, size;
    struct scan scan;
    uint32_t moved_cookie; /* a directory that went away, and may come next; 0: none */
    char *moved;
    bool is_ready, is_held, is_resting, has_lost;
    bool is_calling, is_over; /* a callback runs; it has freed this */
};

const char *tree_event_name(enum tree_event_kind kind)
{
    static const char *const names[] = {
        [TREE_CREATED] = "create", [TREE_WRITTEN] = "write", [TREE_REMOVED] = "remove",
        [TREE_RENAMED] = "rename", [TREE_CHANGED] = "chmod", [TREE_LOST] = "lost",
    };

    return names[kind];
}

/* --- the table --- */

/* The place that the wd has, or would have. */
static size_t place_of(const struct tree_watch *w, int wd)
{
    size_t low = 0, high = w->count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (w->directories[middle].wd < wd)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct directory *find(const struct tree_watch *w, int wd)
{
    size_t at = place_of(w, wd);

    return at < w->count && w->directories[at].wd == wd ? &w->directories[at] : NULL;
}

static void forget(struct tree_watch *w, size_t at)
{
    free(w->directories[at].path);
    memmove(&w->directories[at], &w->directories[at + 1],
            (--w->count - at) * sizeof(*w->directories));
}

/* Takes `path` over. */
static int note(struct tree_watch *w, int wd, char *path, bool is_new)
{
    struct directory *known = find(w, wd), *grown;
    size_t at;

    if (known) { /* it was moved, or seen twice */
        free(known->path);
        known->path = path;
        return 0;
    }
    grown = array_grow(w->directories, w->count, &w->size, sizeof(*grown));
    if (!grown) {
        free(path);
        return -1;
    }
    w->directories = grown;
    at = place_of(w, wd);
    memmove(&grown[at + 1], &grown[at], (w->count++ - at) * sizeof(*grown));
    grown[at] = (struct directory){wd, path, w->options.is_recursive, is_new};
    return 0;
}

/* It and all below it. */
static bool is_below(const char *path, const char *top)
{
    size_t len = strlen(top);

    return strncmp(path, top, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

static void drop_tree(struct tree_watch *w, const char *path)
{
    for (size_t i = 0; i < w->count;) {
        if (!is_below(w->directories[i].path, path)) {
            i++;
            continue;
        }
        (void)inotify_rm_watch(w->fd, w->directories[i].wd);
        forget(w, i);
    }
}

/* NULL: out of memory, or too long. */
static char *join(const char *dir, const char *name)
{
    char *path;

    if (strlen(dir) + 1 + strlen(name) >= PATH_MAX)
        return NULL;
    if (asprintf(&path, "%s%s%s", dir, *dir && *name ? "/" : "", name) < 0)
        return NULL;
    return path;
}

static void rename_tree(struct tree_watch *w, const char *from, const char *to)
{
    for (size_t i = 0; i < w->count; i++) {
        struct directory *d = &w->directories[i];
        const char *rest = d->path + strlen(from);
        char *path;

        if (!is_below(d->path, from))
            continue;
        path = join(to, *rest ? rest + 1 : "");
        if (path) {
            free(d->path);
            d->path = path;
        } else {
            w->has_lost = true;
        }
    }
}

/* --- directories --- */

static int open_directory(struct tree_watch *w, const char *path, int flags)
{
    struct files_guard guard;
    cleanup_free char *full = join(w->top, path);
    int fd, errnum;

    if (!full || files_enter(&guard, &w->files, NULL) < 0)
        return -1;
    fd = files_open_path(&w->files, full, flags | O_DIRECTORY, 0);
    errnum = errno;
    files_leave(&guard);
    errno = errnum;
    return fd;
}

/* Takes `path` over. -1 with errno. */
static int add_directory(struct tree_watch *w, char *path, bool is_new)
{
    cleanup_close int fd = -1;
    char name[32];
    int wd;

    if (path && w->count < TREE_WATCH_DIRECTORIES)
        fd = open_directory(w, path, O_PATH);
    else
        errno = ENOSPC;
    (void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    wd = fd < 0 ? -1 : inotify_add_watch(w->fd, name, EVENTS);
    if (wd < 0) {
        free(path);
        return -1;
    }
    return note(w, wd, path, is_new);
}

static void go_on_scanning(struct tree_watch *w);

/* One that is gone again is none that was missed. */
static void follow(struct tree_watch *w, const char *path, bool is_new)
{
    if (!w->options.is_recursive)
        return;
    if (add_directory(w, strdup(path), is_new) == 0)
        go_on_scanning(w);
    else if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
        w->has_lost = true;
}

/* --- telling --- */

/* False: the watch is gone. */
static bool call(struct tree_watch *w, const struct tree_event *event, void (*fn)(void *user))
{
    w->is_calling = true;
    if (event)
        w->options.on_event(w->options.user, event);
    else if (fn)
        fn(w->options.user);
    w->is_calling = false;
    if (!w->is_over)
        return true;
    tree_watch_free(w);
    return false;
}

static bool tell(struct tree_watch *w, enum tree_event_kind kind, const char *path, bool is_dir)
{
    const struct tree_event event = {kind, path, is_dir};

    return call(w, &event, NULL);
}

static bool tell_losses(struct tree_watch *w)
{
    if (!w->has_lost)
        return true;
    w->has_lost = false;
    return tell(w, TREE_LOST, "", false);
}

/* --- looking into directories --- */

static void end_scan(struct tree_watch *w)
{
    close_fd(&w->scan.names.fd);
    free(w->scan.names.data);
    free(w->scan.path);
    w->scan = (struct scan){.names.fd = -1};
}

/* False: there is none. */
static bool begin_scan(struct tree_watch *w)
{
    for (size_t i = 0; i < w->count; i++) {
        struct directory *d = &w->directories[i];

        if (!d->is_due)
            continue;
        d->is_due = false;
        w->scan.path = strdup(d->path);
        w->scan.names.data = malloc(PIECE_BYTES);
        w->scan.names.size = PIECE_BYTES;
        w->scan.is_new = d->is_new;
        if (w->scan.path && w->scan.names.data)
            w->scan.names.fd = open_directory(w, d->path, O_RDONLY);
        if (w->scan.names.fd >= 0)
            return true;
        end_scan(w);
    }
    return false;
}

/* False: the watch is gone. */
static bool see(struct tree_watch *w, const char *name)
{
    cleanup_free char *path = join(w->scan.path, name);
    bool is_new = w->scan.is_new, is_dir;
    struct stat st;

    if (!path || fstatat(w->scan.names.fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return true;
    is_dir = S_ISDIR(st.st_mode);
    if (is_dir)
        follow(w, path, is_new);
    return !is_new || tell(w, TREE_CREATED, path, is_dir);
}

static void scan_piece(void *arg)
{
    struct tree_watch *w = arg;
    const char *name = "";

    if (w->is_held)
        return;
    if (w->scan.names.fd < 0 && !begin_scan(w)) {
        bool was_ready = w->is_ready;

        w->is_ready = true;
        if (was_ready || call(w, NULL, w->options.on_ready))
            (void)tell_losses(w);
        return;
    }
    for (unsigned i = 0; i < SCAN_NAMES && (name = files_next_name(&w->scan.names)); i++)
        if (!see(w, name))
            return;
    w->scan.seen += SCAN_NAMES;
    w->has_lost |= name && w->scan.seen >= SCAN_NAMES_MAX;
    if (!name || w->scan.seen >= SCAN_NAMES_MAX)
        end_scan(w);
    go_on_scanning(w);
}

static void go_on_scanning(struct tree_watch *w)
{
    loop_work_post(w->options.loop, &w->scanning, scan_piece, w);
}

/* --- what Linux tells --- */

/* A directory that went away did not come back: it is no longer in the tree. */
static void settle_move(struct tree_watch *w)
{
    if (w->moved)
        drop_tree(w, w->moved);
    free(take_ptr(w->moved));
    w->moved_cookie = 0;
}

static void on_directory(struct tree_watch *w, const struct inotify_event *event, const char *path)
{
    if (event->mask & IN_MOVED_FROM) {
        w->moved = strdup(path);
        w->moved_cookie = event->cookie;
    } else if (event->mask & IN_MOVED_TO && w->moved && event->cookie == w->moved_cookie) {
        rename_tree(w, w->moved, path);
        free(take_ptr(w->moved));
        w->moved_cookie = 0;
    } else if (event->mask & (IN_CREATE | IN_MOVED_TO)) {
        follow(w, path, true);
    }
}

static int kind_of(uint32_t mask)
{
    return mask & (IN_CREATE | IN_MOVED_TO) ? TREE_CREATED
           : mask & IN_MODIFY               ? TREE_WRITTEN
           : mask & IN_DELETE               ? TREE_REMOVED
           : mask & IN_MOVED_FROM           ? TREE_RENAMED
           : mask & IN_ATTRIB               ? TREE_CHANGED
                                            : -1;
}

/* False: the watch is gone. */
static bool take_named(struct tree_watch *w, const struct directory *d,
                       const struct inotify_event *event)
{
    cleanup_free char *path = join(d->path, event->name);
    bool is_dir = event->mask & IN_ISDIR;
    int kind = kind_of(event->mask);

    if (!path || kind < 0) {
        w->has_lost |= !path;
        return true;
    }
    if (is_dir && w->options.is_recursive)
        on_directory(w, event, path);
    return tell(w, (enum tree_event_kind)kind, path, is_dir);
}

/* Directories may have come that nobody was told of. */
static void look_again(struct tree_watch *w)
{
    w->has_lost = true;
    for (size_t i = 0; i < w->count; i++)
        w->directories[i].is_due = w->options.is_recursive;
    go_on_scanning(w);
}

/* False: the watch is gone, or at its end. */
static bool take(struct tree_watch *w, const struct inotify_event *event)
{
    const struct directory *d = find(w, event->wd);

    if (w->moved && event->cookie != w->moved_cookie)
        settle_move(w);
    if (event->mask & IN_Q_OVERFLOW)
        look_again(w);
    if (!d)
        return true;
    if (event->mask & IN_IGNORED) {
        forget(w, (size_t)(d - w->directories));
        return true;
    }
    if (event->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT)) {
        if (*d->path)
            return true; /* the directory above reports it */
        (void)call(w, NULL, w->options.on_gone);
        return false;
    }
    return !event->len || take_named(w, d, event);
}

static void on_readable(void *arg);

static void watch(struct tree_watch *w)
{
    if (w->readable || w->is_held || w->is_resting || w->len)
        return;
    w->readable = loop_watch_fd(w->options.loop, w->fd, LOOP_READ, on_readable, w);
    if (!w->readable) /* no memory now */
        loop_timer_start(w->rest, REST_MS);
}

static void stop_watching(struct tree_watch *w)
{
    loop_watch_free(w->readable);
    w->readable = NULL;
}

static void on_rested(void *arg)
{
    struct tree_watch *w = arg;

    w->is_resting = false;
    watch(w);
}

/* False: the watch is gone, or there is more, for which it comes again. */
static bool take_some(struct tree_watch *w)
{
    for (unsigned i = 0; i < EVENTS_AT_ONCE && w->at < w->len; i++) {
        const struct inotify_event *event = (const void *)(w->piece + w->at);

        w->at += sizeof(*event) + event->len;
        if (!take(w, event))
            return false;
    }
    return w->at == w->len;
}

static void take_piece(void *arg)
{
    struct tree_watch *w = arg;
    bool is_full;

    if (w->is_held)
        return;
    loop_work_post(w->options.loop, &w->taking, take_piece, w);
    if (!take_some(w))
        return;
    loop_work_cancel(&w->taking);
    settle_move(w);
    is_full = w->len >= PIECE_BYTES / 2;
    w->at = w->len = 0;
    if (is_full) {
        w->is_resting = true;
        loop_timer_start(w->rest, REST_MS);
        return;
    }
    watch(w);
    (void)tell_losses(w);
}

static void on_readable(void *arg)
{
    struct tree_watch *w = arg;
    ssize_t n = read(w->fd, w->piece, PIECE_BYTES);

    if (n <= 0)
        return;
    w->len = (size_t)n;
    stop_watching(w);
    loop_work_post(w->options.loop, &w->taking, take_piece, w);
}

void tree_watch_hold(struct tree_watch *w, bool is_held)
{
    if (w->is_held == is_held)
        return;
    w->is_held = is_held;
    if (is_held) {
        stop_watching(w);
        return;
    }
    watch(w);
    if (w->len)
        loop_work_post(w->options.loop, &w->taking, take_piece, w);
    go_on_scanning(w);
}

/* --- beginning and end --- */

void tree_watch_free(struct tree_watch *w)
{
    if (!w)
        return;
    if (w->is_calling) {
        w->is_over = true; /* the caller of the callback frees it */
        return;
    }
    loop_work_cancel(&w->scanning);
    loop_work_cancel(&w->taking);
    loop_watch_free(w->readable);
    loop_watch_free(w->rest);
    end_scan(w);
    while (w->count)
        forget(w, w->count - 1);
    free(w->directories);
    free(w->moved);
    free(w->piece);
    free(w->top);
    close_fd(&w->fd);
    files_done(&w->files);
    free(w);
}

static int begin(struct tree_watch *w, struct error *err)
{
    const struct tree_watch_options *options = &w->options;

    w->top = strdup(options->path);
    w->piece = malloc(PIECE_BYTES);
    w->rest = loop_timer(options->loop, on_rested, w);
    if (!w->top || !w->piece || !w->rest)
        return error_memory(err);
    if (files_copy(options->files, &w->files, err) < 0)
        return -1;
    w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (w->fd < 0 && errno == EMFILE) {
        error_set(err, E_BUSY, "the server has as many watches as its user may have");
        return error_hint(err, "end others, or have `fs.inotify.max_user_instances` raised");
    }
    if (w->fd < 0)
        return error_errno(err, "inotify_init1");
    if (add_directory(w, strdup(""), false) < 0)
        return files_fail(err, "watch", options->path);
    watch(w);
    go_on_scanning(w);
    return 0;
}

int tree_watch_new(const struct tree_watch_options *options, struct tree_watch **ret_watch,
                   struct error *err)
{
    struct tree_watch *w = calloc(1, sizeof(*w));

    if (!w)
        return error_memory(err);
    w->options = *options;
    w->files.fd = w->fd = w->scan.names.fd = -1;
    if (begin(w, err) < 0) {
        tree_watch_free(w);
        return -1;
    }
    *ret_watch = w;
    return 0;
}
