#include "sandbox/overlay.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/utf8.h"
#include "sandbox/files_internal.h"
#include "sandbox/overlay_internal.h"
#include "sandbox/protected_internal.h"

/* --- life --- */

static void overlay_done(struct overlay *overlay)
{
    files_done(&overlay->disk);
    files_done(&overlay->upper);
    files_done(&overlay->seen);
    for (size_t i = 0; i < overlay->n_bases; i++)
        free(overlay->bases[i].path);
    free(overlay->bases);
    free(overlay->path);
}

struct overlays *overlays_ref(struct overlays *overlays)
{
    overlays->refs++;
    return overlays;
}

void overlays_unref(struct overlays *overlays)
{
    if (!overlays || --overlays->refs)
        return;
    for (size_t i = 0; i < overlays->count; i++)
        overlay_done(&overlays->items[i]);
    free(overlays);
}

/* Files are stamped by this clock, some with its last tick only: what changes in the few ms until
 * the sandbox stands may seem to be older, and is what the program sees from its first look on. */
int64_t overlays_now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int overlay_init(struct overlay *overlay, const struct run_grant *grant, struct error *err)
{
    struct stat st;

    *overlay = (struct overlay){
        .path = strdup(grant->path),
        .disk.fd = fcntl(grant->fd, F_DUPFD_CLOEXEC, 3),
        .upper.fd = -1,
        .seen.fd = -1,
        .since_ns = overlays_now_ns(),
    };
    if (!overlay->path)
        return error_memory(err);
    if (overlay->disk.fd < 0 || fstat(overlay->disk.fd, &st) < 0)
        return error_errno(err, "keep `%s`", grant->path);
    overlay->disk.uid = st.st_uid;
    overlay->disk.gid = st.st_gid;
    /* Without root, the process has only the user's own rights anyway. */
    overlay->disk.is_other = geteuid() == 0 && (st.st_uid != 0 || st.st_gid != getegid());
    return 0;
}

int overlays_new(const struct run_grant *grants, size_t count, struct overlays **ret_overlays,
                 struct error *err)
{
    struct overlays *overlays = NULL;

    for (size_t i = 0; i < count; i++) {
        if (grants[i].mode != RUN_GRANT_COW)
            continue;
        if (!overlays && (overlays = calloc(1, sizeof(*overlays))))
            overlays->refs = 1;
        if (!overlays)
            return error_memory(err);
        if (overlays->count == LIMIT_COW_GRANTS) {
            overlays_unref(overlays);
            error_set(err, E_TOO_LARGE, "at most %d directories can be copy-on-write",
                      LIMIT_COW_GRANTS);
            return error_hint(err, "grant a directory that contains several of them");
        }
        if (overlay_init(&overlays->items[overlays->count++], &grants[i], err) < 0) {
            overlays_unref(overlays);
            return -1;
        }
    }
    *ret_overlays = overlays;
    return 0;
}

size_t overlays_count(const struct overlays *overlays)
{
    return overlays ? overlays->count : 0;
}

int overlays_take(struct overlays *overlays, size_t index, int upper_fd, int seen_fd,
                  struct error *err)
{
    struct overlay *overlay = &overlays->items[index];
    cleanup_close int seen = seen_fd;
    struct statfs fs;

    if (files_init(&overlay->upper, upper_fd, err) < 0)
        return error_wrap(err, "the overlay of a grant");
    if (fstatfs(seen, &fs) < 0 || fs.f_type != OVERLAYFS_SUPER_MAGIC)
        return error_set(err, E_PROTOCOL, "received an invalid copy-on-write grant");
    overlay->seen = overlay->upper;
    overlay->seen.fd = take_fd(seen);
    return 0;
}

/* --- conflicts --- */

int64_t overlay_ctime_ns(const struct stat *st)
{
    return (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec;
}

int64_t overlay_mtime_ns(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

static int compare_bases(const void *a, const void *b)
{
    return strcmp(((const struct overlay_base *)a)->path, ((const struct overlay_base *)b)->path);
}

static struct overlay_base *find_base(const struct overlay *overlay, const char *path)
{
    struct overlay_base wanted = {.path = (char *)path};

    return overlay->n_bases
               ? bsearch(&wanted, overlay->bases, overlay->n_bases, sizeof(wanted), compare_bases)
               : NULL;
}

/* There are disks on which a file that is renamed keeps its times of change, and clocks that are
 * set back: another inode than the one that we wrote is another file, and a content that is younger
 * than the sandbox is a change. */
bool overlay_is_conflict(const struct overlay *overlay, const char *path,
                         const struct overlay_entry *e)
{
    const struct overlay_base *base = find_base(overlay, path);

    if (base)
        return e->ctime_ns != base->ctime_ns || e->inode != base->inode;
    return e->ctime_ns > overlay->since_ns ||
           (e->mtime_ns > overlay->since_ns && e->mtime_ns <= overlays_now_ns());
}

static int grow(struct overlay *overlay, struct error *err)
{
    struct overlay_base *grown =
        array_grow(overlay->bases, overlay->n_bases, &overlay->size, sizeof(*grown));

    if (!grown)
        return error_memory(err);
    overlay->bases = grown;
    return 0;
}

int overlays_note_base(struct overlays *overlays, size_t index, const char *path, int64_t ctime_ns,
                       uint64_t inode, struct error *err)
{
    struct overlay *overlay = &overlays->items[index];
    struct overlay_base *base = find_base(overlay, path);
    size_t at = 0;
    char *copy;

    if (base) {
        base->ctime_ns = ctime_ns;
        base->inode = inode;
        return 0;
    }
    copy = strdup(path);
    if (!copy || grow(overlay, err) < 0) {
        free(copy);
        return error_memory(err);
    }
    while (at < overlay->n_bases && strcmp(overlay->bases[at].path, path) < 0)
        at++;
    memmove(&overlay->bases[at + 1], &overlay->bases[at],
            (overlay->n_bases - at) * sizeof(*overlay->bases));
    overlay->bases[at] = (struct overlay_base){copy, ctime_ns, inode};
    overlay->n_bases++;
    return 0;
}

const char *overlays_base(const struct overlays *overlays, size_t index, size_t n,
                          int64_t *ret_ctime_ns, uint64_t *ret_inode)
{
    const struct overlay *overlay = &overlays->items[index];

    if (n >= overlay->n_bases)
        return NULL;
    *ret_ctime_ns = overlay->bases[n].ctime_ns;
    *ret_inode = overlay->bases[n].inode;
    return overlay->bases[n].path;
}

/* --- what is never written --- */

static bool is_on_disk(const struct overlay *overlay, const char *path)
{
    cleanup_close int fd = overlay_openat(&overlay->disk, overlay->disk.fd, path, O_PATH);

    return fd >= 0 || (errno != ENOENT && errno != ENOTDIR);
}

/* By its name and by the directory that it is in on the disk. */
static bool is_protected_name(const struct overlay *overlay, const char *path, bool is_link)
{
    cleanup_free char *full = NULL, *above = strdup(path);
    char *slash = above ? strrchr(above, '/') : NULL;
    cleanup_close int parent = -1;

    if (!above || asprintf(&full, "%s/%s", overlay->path, path) < 0) {
        full = NULL;
        return true;
    }
    *(slash ? slash : above) = '\0';
    parent = overlay_openat(&overlay->disk, overlay->disk.fd, above, O_PATH | O_DIRECTORY);
    return (is_link ? protected_judge_link(parent, full) : protected_judge(parent, full)) != NULL;
}

/* Writing a file makes the directories above it, so that each of them counts as long as it is not
 * there: `.git/index` may change, but not come with a new `.git`. */
static bool has_protected_parent(const struct overlay *overlay, const char *path)
{
    cleanup_free char *part = strdup(path);

    for (char *slash = part ? strrchr(part, '/') : NULL; slash; slash = strrchr(part, '/')) {
        *slash = '\0';
        if (is_on_disk(overlay, part))
            return false;
        if (is_protected_name(overlay, part, false))
            return true;
    }
    return !part;
}

/* There is no git directory without HEAD, so none comes into being where HEAD is never written. The
 * rest of one may be new in the overlay, too, and is not seen from the disk. */
static bool is_new_head(const struct overlay *overlay, const char *path)
{
    const char *slash = strrchr(path, '/');
    struct protected_state state = protected_start();

    if (strcasecmp(slash ? slash + 1 : path, "HEAD") != 0)
        return false;
    protected_walk(&state, overlay->path);
    protected_walk(&state, path);
    return state.git == GIT_OUTSIDE && !is_on_disk(overlay, path);
}

bool overlay_is_protected(const struct overlay *overlay, const char *path, enum files_kind kind)
{
    return is_protected_name(overlay, path, kind == FILES_LINK) ||
           has_protected_parent(overlay, path) ||
           (kind != FILES_DIRECTORY && is_new_head(overlay, path));
}

/* Up is only allowed first, where it is counted from the link's own directory, which is a real one.
 * Behind a name it would be counted from wherever that name leads. */
bool overlay_link_stays(const char *path, const char *target)
{
    size_t depth = 0;

    if (!*target || *target == '/')
        return false;
    for (const char *c = path; *c; c++)
        depth += *c == '/';
    while (strncmp(target, "..", 2) == 0 && (target[2] == '/' || !target[2])) {
        if (depth-- == 0)
            return false;
        target += 2;
        target += strspn(target, "/");
    }
    for (const char *part = target; part; part = strchr(part, '/')) {
        part += *part == '/';
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || !part[2]))
            return false;
    }
    return true;
}

/* --- looking, as whose files they are --- */

int overlay_look(const struct files *files, int dir, const char *name, struct stat *ret_st)
{
    cleanup(files_leave) struct files_guard guard = {0};

    if (files_enter(&guard, files, NULL) < 0) {
        errno = EPERM;
        return -1;
    }
    return fstatat(dir, name, ret_st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT);
}

int overlay_openat(const struct files *files, int dir, const char *path, int flags)
{
    cleanup(files_leave) struct files_guard guard = {0};

    if (files_enter(&guard, files, NULL) < 0) {
        errno = EPERM;
        return -1;
    }
    return files_openat(dir, path, flags, 0);
}

ssize_t overlay_readlink(const struct files *files, int dir, const char *name, char *target,
                         size_t size)
{
    cleanup(files_leave) struct files_guard guard = {0};
    ssize_t n;

    if (files_enter(&guard, files, NULL) < 0)
        return -1;
    n = readlinkat(dir, name, target, size - 1);
    if (n < 0 || (size_t)n == size - 1)
        return -1;
    target[n] = '\0';
    return n;
}

/* --- names --- */

const char *overlay_change_name(enum overlay_change change)
{
    static const char *const names[] = {[OVERLAY_CREATED] = "created",
                                        [OVERLAY_CHANGED] = "changed",
                                        [OVERLAY_DELETED] = "deleted"};

    return names[change];
}

const char *overlay_obstacle_name(enum overlay_obstacle obstacle)
{
    static const char *const names[] = {
        [OVERLAY_NO_OBSTACLE] = NULL,        [OVERLAY_CONFLICT] = "conflict",
        [OVERLAY_PROTECTED] = "protected",   [OVERLAY_SPECIAL] = "special",
        [OVERLAY_LEADS_OUT] = "leads_out",   [OVERLAY_ODD_NAME] = "odd_name",
        [OVERLAY_UNREADABLE] = "unreadable", [OVERLAY_FAILED] = "failed",
    };

    return names[obstacle];
}

int overlays_show_path(const struct overlays *overlays, const struct overlay_entry *entry,
                       struct buf *out, struct error *err)
{
    if (files_path_reveal(overlays->items[entry->index].path, out, err) < 0 ||
        buf_add_str(out, "/", err) < 0)
        return -1;
    return files_path_reveal(entry->path, out, err);
}

bool overlays_is_below(const struct overlays *overlays, const struct overlay_entry *entry,
                       const char *path)
{
    cleanup(buf_done) struct buf shown = BUF_OF(8 * PATH_MAX + 2);
    size_t len = strlen(path), skip = 0;
    const char *text;

    while (len > 1 && path[len - 1] == '/')
        len--;
    if (overlays_show_path(overlays, entry, &shown, NULL) < 0)
        return false;
    text = buf_str(&shown);
    if (path[0] != '/') {
        cleanup(buf_done) struct buf top = {0};

        buf_init(&top, 4 * PATH_MAX + 1);
        if (overlays->count != 1 || files_path_reveal(overlays->items[0].path, &top, NULL) < 0)
            return false;
        skip = top.len + 1;
    }
    return strncmp(text + skip, path, len) == 0 &&
           (text[skip + len] == '\0' || text[skip + len] == '/');
}

const char *overlays_shown(const struct overlays *overlays)
{
    return overlays->shown;
}

void overlays_note_shown(struct overlays *overlays, const char *version)
{
    (void)snprintf(overlays->shown, sizeof(overlays->shown), "%s", version);
}

void overlays_list_digest(const struct overlays *overlays, const struct overlays_list *list,
                          uint8_t digest[SHA256_BYTES])
{
    struct sha256_stream *sha = sha256_begin();

    for (size_t i = 0; i < list->count; i++) {
        const struct overlay_entry *e = &list->entries[i];
        const char *top = overlays->items[e->index].path;
        uint32_t facts[] = {(uint32_t)e->change, (uint32_t)e->kind, e->mode};
        /* Times and inode of the file that it replaces. */
        int64_t base[] = {e->ctime_ns, e->mtime_ns, (int64_t)e->inode};

        if (e->is_done) /* it is no change any more */
            continue;
        sha256_feed(sha, top, strlen(top) + 1);
        sha256_feed(sha, e->path, strlen(e->path) + 1);
        sha256_feed(sha, facts, sizeof(facts));
        if (e->kind != FILES_DIRECTORY)
            sha256_feed(sha, base, sizeof(base));
        sha256_feed(sha, e->digest, sizeof(e->digest));
    }
    sha256_end(sha, digest);
}

/* --- what the program sees --- */

/* Reconfiguring a file system, with nothing changed, drops what it remembers of names. */
static int forget_names(int overlay, struct error *err)
{
    cleanup_close int fs =
        (int)syscall(SYS_fspick, overlay, "", FSPICK_CLOEXEC | FSPICK_EMPTY_PATH);

    if (fs < 0 || syscall(SYS_fsconfig, fs, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0) < 0)
        return error_errno(err, "refresh the view of a directory");
    return 0;
}

int overlays_refresh(const struct overlays *overlays, int pidfd, struct error *err)
{
    if (setns(pidfd, CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return error_errno(err, "enter the sandbox");
    for (size_t i = 0; i < overlays->count; i++)
        if (overlays->items[i].seen.fd >= 0 && forget_names(overlays->items[i].seen.fd, err) < 0)
            return -1;
    return 0;
}
