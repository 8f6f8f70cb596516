#include "sandbox/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "sandbox/cgroup_internal.h"

/* Discarded groups that are tried when a new one is made: more than are discarded meanwhile. */
#define RETRIES 8

/* --- helpers --- */

void cgroup_set_reason(struct cgroup_host *host, const char *fmt, ...)
{
    va_list args;

    free(host->reason);
    va_start(args, fmt);
    if (vasprintf(&host->reason, fmt, args) < 0)
        host->reason = NULL;
    va_end(args);
}

int cgroup_place_fd(const struct cgroup_host *host, enum cgroup_controller controller)
{
    for (size_t i = 0; i < host->n_places; i++)
        if (host->places[i].controllers & CGROUP_BIT(controller))
            return host->places[i].fd;
    return -1;
}

int cgroup_write(const struct cgroup *group, enum cgroup_controller controller, const char *file,
                 const char *value, struct error *err)
{
    int dirfd = cgroup_place_fd(group->host, controller);
    char path[CGROUP_PATH_MAX];
    int r;

    if (dirfd < 0) {
        error_set(err, E_UNSUPPORTED, "no cgroup controller here has `%s`", file);
        return error_hint(err, "`belljar doctor` lists the controllers of this host");
    }
    (void)snprintf(path, sizeof(path), "%s/%s", group->name, file);
    r = file_write(dirfd, path, value);
    if (r < 0) {
        errno = -r;
        return error_errno(err, "write `%s` to cgroup `%s`", value, path);
    }
    return 0;
}

int cgroup_write_u64(const struct cgroup *group, enum cgroup_controller controller,
                     const char *file, uint64_t value, struct error *err)
{
    char text[32];

    (void)snprintf(text, sizeof(text), "%" PRIu64, value);
    return cgroup_write(group, controller, file, text, err);
}

/* --- the host --- */

/* Our directory, locked for as long as we live: see is_stale() in cgroup_sweep.c. Returns its
 * descriptor or -errno; -EAGAIN: somebody who clears up took it for a stale one before we had the
 * lock. */
static int make_locked(const char *path, bool is_again)
{
    cleanup_close int fd = -1;
    struct stat ours, there;

    if (mkdir(path, 0755) < 0) /* the second time it is the one that is just being cleared up */
        return errno == EEXIST && is_again ? -EAGAIN : -errno;
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? -EAGAIN : -errno;
    /* Without locks, other processes that clear up have none either and go by the process alone. */
    if ((flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) || fstat(fd, &ours) < 0 ||
        stat(path, &there) < 0 || ours.st_ino != there.st_ino)
        return -EAGAIN;
    return take_fd(fd);
}

static int make_place(struct cgroup_host *host, struct cgroup_place *place)
{
    cleanup_free char *path = NULL;

    if (asprintf(&path, "%s/%s", place->parent, host->name) < 0)
        return -ENOMEM;
    for (int tries = 0; tries < 10; tries++) {
        place->fd = make_locked(path, tries > 0);
        if (place->fd != -EAGAIN)
            break;
    }
    if (place->fd < 0) {
        int r = place->fd;

        place->fd = -1;
        return r;
    }
    if (place->controllers & CGROUP_BIT(CGROUP_MEMORY))
        host->path = take_ptr(path);
    return 0;
}

static void drop_place(struct cgroup_host *host, size_t index)
{
    struct cgroup_place *place = &host->places[index];

    close_fd(&place->fd);
    free(place->mount);
    free(place->own);
    free(place->parent);
    host->n_places--;
    memmove(place, place + 1, (host->n_places - index) * sizeof(*place));
}

static void explain(struct cgroup_host *host, const struct cgroup_place *place, int r)
{
    const char *where = place->parent ? place->parent : place->own;

    if (r == -EEXIST)
        cgroup_set_reason(host, "`%s/%s` is in use by this process already", where, host->name);
    else
        cgroup_set_reason(host,
                          "cannot make a group in `%s`: %s; run as root, or where the group is "
                          "delegated to you",
                          where, strerror(-r));
}

/* A place that cannot be used is given up if we can do without its controllers. */
static int make_places(struct cgroup_host *host)
{
    for (size_t i = 0; i < host->n_places;) {
        struct cgroup_place *place = &host->places[i];
        int r = place->parent ? make_place(host, place) : -ENOMEM;

        if (r == 0) {
            i++;
        } else if (!(place->controllers & CGROUP_NEEDED)) {
            drop_place(host, i);
        } else {
            explain(host, place, r);
            return -1;
        }
    }
    return 0;
}

static int choose_parents(struct cgroup_host *host)
{
    if (host->kind == CGROUP_V2)
        return cgroup_v2_choose_parent(host);
    for (size_t i = 0; i < host->n_places; i++)
        host->places[i].parent = strdup(host->places[i].own);
    return 0;
}

static void become_none(struct cgroup_host *host)
{
    cgroup_clear(host);
    while (host->n_places)
        drop_place(host, host->n_places - 1);
    host->kind = CGROUP_NONE;
    free(host->path);
    host->path = NULL;
}

int cgroup_host_open_at(const char *proc, struct cgroup_host **ret_host, struct error *err)
{
    struct cgroup_host *host = calloc(1, sizeof(*host));

    if (!host)
        return error_errno(err, "look for cgroups");
    if (cgroup_own_name(host->name) < 0) {
        cgroup_host_free(host);
        return error_set(err, E_UNSUPPORTED, "cannot read `/proc/self/stat`: is /proc mounted?");
    }
    if (cgroup_probe(proc, host, err) < 0) {
        cgroup_host_free(host);
        return -1;
    }
    if (host->kind != CGROUP_NONE &&
        (choose_parents(host) < 0 || make_places(host) < 0 || host->ops->prepare(host) < 0))
        become_none(host);
    if (host->kind != CGROUP_NONE && cgroup_janitor_start(host, err) < 0) {
        cgroup_host_free(host);
        return -1;
    }
    *ret_host = host;
    return 0;
}

int cgroup_host_open(struct cgroup_host **ret_host, struct error *err)
{
    return cgroup_host_open_at("/proc/self", ret_host, err);
}

enum cgroup_kind cgroup_host_kind(const struct cgroup_host *host)
{
    return host->kind;
}

const char *cgroup_host_reason(const struct cgroup_host *host)
{
    if (host->kind != CGROUP_NONE)
        return NULL;
    return host->reason ? host->reason : "out of memory";
}

const char *cgroup_host_path(const struct cgroup_host *host)
{
    return host->path;
}

/* A number of a group, by a key where the file has several. */
static uint64_t read_of(const char *group, const char *file, const char *key)
{
    char path[PATH_MAX], text[4096], line[64];
    const char *at = text;
    uint64_t number;

    if (snprintf(path, sizeof(path), "%s/%s", group, file) >= PATH_MAX ||
        file_read(AT_FDCWD, path, text, sizeof(text)) < 0)
        return UINT64_MAX;
    if (key) {
        (void)snprintf(line, sizeof(line), "\n%s ", key);
        at = strstr(text, line);
        at = at ? at + strlen(line) : "";
    }
    return sscanf(at, "%" SCNu64, &number) == 1 ? number : UINT64_MAX;
}

/* Pages of files that are on a disk can be had back. */
static uint64_t reclaimable(const char *group, bool is_v2)
{
    uint64_t old = read_of(group, "memory.stat", is_v2 ? "inactive_file" : "total_inactive_file");
    uint64_t young = read_of(group, "memory.stat", is_v2 ? "active_file" : "total_active_file");

    return (old == UINT64_MAX ? 0 : old) + (young == UINT64_MAX ? 0 : young);
}

/* Calls `fn` with each group from the one above ours up to the mount. */
static void each_above(const struct cgroup_host *host,
                       void (*fn)(const char *group, bool is_v2, void *user), void *user)
{
    cleanup_free char *path = host && host->path ? strdup(host->path) : NULL;
    char *end;

    while (path && (end = strrchr(path, '/')) && end != path) {
        *end = '\0';
        if (host->kind == CGROUP_V1 && read_of(path, "memory.limit_in_bytes", NULL) == UINT64_MAX)
            break;
        fn(path, host->kind == CGROUP_V2, user);
    }
}

static void find_least(const char *group, bool is_v2, void *user)
{
    uint64_t *least = user;
    uint64_t limit = read_of(group, is_v2 ? "memory.max" : "memory.limit_in_bytes", NULL);

    if (limit < *least)
        *least = limit;
}

uint64_t cgroup_host_memory(const struct cgroup_host *host)
{
    uint64_t least = UINT64_MAX;

    each_above(host, find_least, &least);
    return least;
}

struct left {
    uint64_t total, left;
};

static void find_left(const char *group, bool is_v2, void *user)
{
    struct left *least = user;
    uint64_t limit = read_of(group, is_v2 ? "memory.max" : "memory.limit_in_bytes", NULL);
    uint64_t used = read_of(group, is_v2 ? "memory.current" : "memory.usage_in_bytes", NULL);
    uint64_t back, left;

    if (limit >= UINT64_MAX / 4 || used == UINT64_MAX)
        return;
    back = reclaimable(group, is_v2);
    used -= back < used ? back : used;
    left = used < limit ? limit - used : 0;
    if (left < least->left)
        *least = (struct left){limit, left};
}

bool cgroup_host_left(struct cgroup_host *host, uint64_t *ret_total, uint64_t *ret_left)
{
    struct left least = {.left = UINT64_MAX};

    each_above(host, find_left, &least);
    *ret_total = least.total;
    *ret_left = least.left;
    return least.left != UINT64_MAX;
}

bool cgroup_host_has_us(const struct cgroup_host *host)
{
    return host && host->has_moved;
}

void cgroup_host_free(struct cgroup_host *host)
{
    if (!host)
        return;
    /* The janitor stays until there is nothing left to see to; only from a leaf of v2, which it
     * shares with us, it has to go first. */
    if (host->has_moved)
        cgroup_janitor_stop(host);
    become_none(host); /* and with the directory every group in it */
    cgroup_janitor_stop(host);
    cgroup_forget_counters(host, NULL);
    while (host->discarded) {
        struct cgroup *next = host->discarded->next;

        free(host->discarded);
        host->discarded = next;
    }
    free(host->spare);
    free(host->reason);
    free(host);
}

/* --- one group --- */

static int make_group(struct cgroup *group, struct error *err)
{
    const struct cgroup_host *host = group->host;

    for (size_t i = 0; i < host->n_places; i++) {
        if (mkdirat(host->places[i].fd, group->name, 0755) == 0)
            continue;
        error_errno(err, "make cgroup `%s/%s/%s`", host->places[i].parent, host->name, group->name);
        while (i-- > 0)
            (void)unlinkat(host->places[i].fd, group->name, AT_REMOVEDIR);
        return -1;
    }
    return 0;
}

static void keep_discarded(struct cgroup *group)
{
    struct cgroup **at = &group->host->discarded;

    while (*at)
        at = &(*at)->next;
    *at = group;
}

/* The oldest first, a few at a time. One that is not free yet goes to the end: it must not be in
 * the way of the others, nor stay because somebody hides in it. */
static void retry_discarded(struct cgroup_host *host)
{
    const struct cgroup *stuck = NULL;

    for (int n = 0; n < RETRIES && host->discarded && host->discarded != stuck; n++) {
        struct cgroup *group = host->discarded;

        host->discarded = group->next;
        group->next = NULL;
        if (cgroup_remove(group) == 0)
            continue;
        cgroup_kill(group);
        keep_discarded(group);
        stuck = stuck ? stuck : group;
    }
}

int cgroup_new(struct cgroup_host *host, const char *name, const struct cgroup_limits *limits,
               struct cgroup **ret_group, struct error *err)
{
    cleanup_free struct cgroup *group = calloc(1, sizeof(*group));
    size_t len = strlen(name);

    if (!group)
        return error_errno(err, "make cgroup `%s`", name);
    if (len == 0 || len >= sizeof(group->name) || name[0] == '.' || strchr(name, '/') ||
        strcmp(name, CGROUP_LEAF) == 0)
        return error_set(err, E_INTERNAL, "`%s` cannot be the name of a cgroup", name);
    group->host = host;
    group->number = ++host->made;
    memcpy(group->name, name, len + 1);

    retry_discarded(host);
    if (make_group(group, err) < 0)
        return -1;
    if (cgroup_set_limits(group, limits, err) < 0) {
        for (size_t i = 0; i < host->n_places; i++)
            (void)unlinkat(host->places[i].fd, group->name, AT_REMOVEDIR);
        return -1;
    }
    *ret_group = take_ptr(group);
    return 0;
}

void cgroup_prepare(struct cgroup_host *host, const char *name, const struct cgroup_limits *limits)
{
    if (host->kind != CGROUP_NONE && !host->spare)
        (void)cgroup_new(host, name, limits, &host->spare, NULL);
}

struct cgroup *cgroup_take(struct cgroup_host *host, const struct cgroup_limits *limits)
{
    struct cgroup *group = take_ptr(host->spare);

    if (group && cgroup_set_limits(group, limits, NULL) < 0) {
        cgroup_discard(group);
        return NULL;
    }
    return group;
}

int cgroup_set_limits(struct cgroup *group, const struct cgroup_limits *limits, struct error *err)
{
    if (group->host->kind != CGROUP_NONE) {
        int r = group->host->ops->set_limits(group, limits, err);

        if (r < 0)
            return r;
    }
    group->limits = *limits;
    group->is_limited = true;
    return 0;
}

int cgroup_attach_fds(const struct cgroup *group, int fds[CGROUP_ATTACH_MAX], struct error *err)
{
    const struct cgroup_host *host = group->host;
    char path[CGROUP_PATH_MAX];

    if (host->kind == CGROUP_NONE)
        return 0;
    (void)snprintf(path, sizeof(path), "%s/%s", group->name, host->ops->attach_file);
    for (size_t i = 0; i < host->n_places; i++) {
        fds[i] = openat(host->places[i].fd, path, O_WRONLY | O_CLOEXEC);
        if (fds[i] >= 0)
            continue;
        error_errno(err, "open cgroup `%s/%s`", host->places[i].parent, path);
        while (i-- > 0)
            close_fd(&fds[i]);
        return -1;
    }
    return (int)host->n_places;
}

int cgroup_read(struct cgroup *group, unsigned questions, struct cgroup_usage *ret_usage,
                struct error *err)
{
    struct cgroup_usage usage = {0};

    if (group->host->kind != CGROUP_NONE &&
        group->host->ops->read(group, questions, &usage, err) < 0)
        return -1;
    *ret_usage = usage;
    return 0;
}

void cgroup_kill_others(const struct cgroup *group, pid_t spared)
{
    int fd = group ? cgroup_place_fd(group->host, CGROUP_PIDS) : -1;

    if (fd < 0)
        return;
    (void)cgroup_write(group, CGROUP_PIDS, "pids.max", "0", NULL);
    cgroup_kill_others_at(fd, group->name, spared);
    (void)cgroup_write_u64(group, CGROUP_PIDS, "pids.max", group->limits.processes, NULL);
}

void cgroup_kill(const struct cgroup *group)
{
    /* In every hierarchy: who was handed the files to join them may have joined one alone. */
    for (size_t i = 0; i < group->host->n_places; i++)
        if (group->host->places[i].fd >= 0)
            cgroup_kill_at(group->host->places[i].fd, group->name);
}

int cgroup_remove(struct cgroup *group)
{
    if (!group)
        return 0;
    for (size_t i = 0; i < group->host->n_places; i++)
        if (unlinkat(group->host->places[i].fd, group->name, AT_REMOVEDIR) < 0 && errno != ENOENT)
            return -errno;
    cgroup_forget_counters(group->host, group);
    free(group);
    return 0;
}

void cgroup_discard(struct cgroup *group)
{
    if (group && cgroup_remove(group) < 0)
        keep_discarded(group);
}
