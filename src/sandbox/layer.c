#include "sandbox/layer.h"

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
#include "sandbox/layer_internal.h"
#include "sandbox/protected_internal.h"

/* --- life --- */

static void layer_done(struct layer *layer)
{
    files_done(&layer->disk);
    files_done(&layer->upper);
    files_done(&layer->seen);
    for (size_t i = 0; i < layer->n_bases; i++)
        free(layer->bases[i].path);
    free(layer->bases);
    free(layer->path);
}

struct layers *layers_ref(struct layers *layers)
{
    layers->refs++;
    return layers;
}

void layers_unref(struct layers *layers)
{
    if (!layers || --layers->refs)
        return;
    for (size_t i = 0; i < layers->count; i++)
        layer_done(&layers->items[i]);
    free(layers);
}

/* Files are stamped by this clock, some with its last tick only: what changes in the few ms until
 * the sandbox stands may seem to be older, and is what the program sees from its first look on. */
int64_t layers_now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int layer_init(struct layer *layer, const struct run_grant *grant, struct error *err)
{
    struct stat st;

    *layer = (struct layer){
        .path = strdup(grant->path),
        .disk.fd = fcntl(grant->fd, F_DUPFD_CLOEXEC, 3),
        .upper.fd = -1,
        .seen.fd = -1,
        .since_ns = layers_now_ns(),
    };
    if (!layer->path)
        return error_memory(err);
    if (layer->disk.fd < 0 || fstat(layer->disk.fd, &st) < 0)
        return error_errno(err, "keep `%s`", grant->path);
    layer->disk.uid = st.st_uid;
    layer->disk.gid = st.st_gid;
    /* Without root, the process has only the user's own rights anyway. */
    layer->disk.is_other = geteuid() == 0 && (st.st_uid != 0 || st.st_gid != getegid());
    return 0;
}

int layers_new(const struct run_grant *grants, size_t count, struct layers **ret_layers,
               struct error *err)
{
    struct layers *layers = NULL;

    for (size_t i = 0; i < count; i++) {
        if (grants[i].mode != RUN_GRANT_COW)
            continue;
        if (!layers && (layers = calloc(1, sizeof(*layers))))
            layers->refs = 1;
        if (!layers)
            return error_memory(err);
        if (layers->count == LIMIT_COW_GRANTS) {
            layers_unref(layers);
            error_set(err, E_TOO_LARGE, "at most %d directories can be copy-on-write",
                      LIMIT_COW_GRANTS);
            return error_hint(err, "grant a directory that contains several of them");
        }
        if (layer_init(&layers->items[layers->count++], &grants[i], err) < 0) {
            layers_unref(layers);
            return -1;
        }
    }
    *ret_layers = layers;
    return 0;
}

size_t layers_count(const struct layers *layers)
{
    return layers ? layers->count : 0;
}

int layers_take(struct layers *layers, size_t index, int layer_fd, int seen_fd, struct error *err)
{
    struct layer *layer = &layers->items[index];
    cleanup_close int seen = seen_fd;
    struct statfs fs;

    if (files_init(&layer->upper, layer_fd, err) < 0)
        return error_wrap(err, "the layer of a grant");
    if (fstatfs(seen, &fs) < 0 || fs.f_type != OVERLAYFS_SUPER_MAGIC)
        return error_set(err, E_PROTOCOL, "received an invalid copy-on-write grant");
    layer->seen = layer->upper;
    layer->seen.fd = take_fd(seen);
    return 0;
}

/* --- conflicts --- */

int64_t layer_ctime_ns(const struct stat *st)
{
    return (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec;
}

int64_t layer_mtime_ns(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

static int compare_bases(const void *a, const void *b)
{
    return strcmp(((const struct layer_base *)a)->path, ((const struct layer_base *)b)->path);
}

static struct layer_base *find_base(const struct layer *layer, const char *path)
{
    struct layer_base wanted = {.path = (char *)path};

    return layer->n_bases
               ? bsearch(&wanted, layer->bases, layer->n_bases, sizeof(wanted), compare_bases)
               : NULL;
}

/* There are disks on which a file that is renamed keeps its times of change, and clocks that are
 * set back: another inode than the one that we wrote is another file, and a content that is younger
 * than the sandbox is a change. */
bool layer_is_conflict(const struct layer *layer, const char *path, const struct layer_entry *e)
{
    const struct layer_base *base = find_base(layer, path);

    if (base)
        return e->ctime_ns != base->ctime_ns || e->inode != base->inode;
    return e->ctime_ns > layer->since_ns ||
           (e->mtime_ns > layer->since_ns && e->mtime_ns <= layers_now_ns());
}

static int grow(struct layer *layer, struct error *err)
{
    struct layer_base *grown =
        array_grow(layer->bases, layer->n_bases, &layer->size, sizeof(*grown));

    if (!grown)
        return error_memory(err);
    layer->bases = grown;
    return 0;
}

int layers_note_base(struct layers *layers, size_t index, const char *path, int64_t ctime_ns,
                     uint64_t inode, struct error *err)
{
    struct layer *layer = &layers->items[index];
    struct layer_base *base = find_base(layer, path);
    size_t at = 0;
    char *copy;

    if (base) {
        base->ctime_ns = ctime_ns;
        base->inode = inode;
        return 0;
    }
    copy = strdup(path);
    if (!copy || grow(layer, err) < 0) {
        free(copy);
        return error_memory(err);
    }
    while (at < layer->n_bases && strcmp(layer->bases[at].path, path) < 0)
        at++;
    memmove(&layer->bases[at + 1], &layer->bases[at],
            (layer->n_bases - at) * sizeof(*layer->bases));
    layer->bases[at] = (struct layer_base){copy, ctime_ns, inode};
    layer->n_bases++;
    return 0;
}

const char *layers_base(const struct layers *layers, size_t index, size_t n, int64_t *ret_ctime_ns,
                        uint64_t *ret_inode)
{
    const struct layer *layer = &layers->items[index];

    if (n >= layer->n_bases)
        return NULL;
    *ret_ctime_ns = layer->bases[n].ctime_ns;
    *ret_inode = layer->bases[n].inode;
    return layer->bases[n].path;
}

/* --- what is never written --- */

static bool is_on_disk(const struct layer *layer, const char *path)
{
    cleanup_close int fd = layer_openat(&layer->disk, layer->disk.fd, path, O_PATH);

    return fd >= 0 || (errno != ENOENT && errno != ENOTDIR);
}

/* By its name and by the directory that it is in on the disk. */
static bool is_protected_name(const struct layer *layer, const char *path, bool is_link)
{
    cleanup_free char *full = NULL, *above = strdup(path);
    char *slash = above ? strrchr(above, '/') : NULL;
    cleanup_close int parent = -1;

    if (!above || asprintf(&full, "%s/%s", layer->path, path) < 0) {
        full = NULL;
        return true;
    }
    *(slash ? slash : above) = '\0';
    parent = layer_openat(&layer->disk, layer->disk.fd, above, O_PATH | O_DIRECTORY);
    return (is_link ? protected_judge_link(parent, full) : protected_judge(parent, full)) != NULL;
}

/* Writing a file makes the directories above it, so that each of them counts as long as it is not
 * there: `.git/index` may change, but not come with a new `.git`. */
static bool has_protected_parent(const struct layer *layer, const char *path)
{
    cleanup_free char *part = strdup(path);

    for (char *slash = part ? strrchr(part, '/') : NULL; slash; slash = strrchr(part, '/')) {
        *slash = '\0';
        if (is_on_disk(layer, part))
            return false;
        if (is_protected_name(layer, part, false))
            return true;
    }
    return !part;
}

/* There is no git directory without HEAD, so none comes into being where HEAD is never written. The
 * rest of one may be new in the layer, too, and is not seen from the disk. */
static bool is_new_head(const struct layer *layer, const char *path)
{
    const char *slash = strrchr(path, '/');
    struct protected_state state = protected_start();

    if (strcasecmp(slash ? slash + 1 : path, "HEAD") != 0)
        return false;
    protected_walk(&state, layer->path);
    protected_walk(&state, path);
    return state.git == GIT_OUTSIDE && !is_on_disk(layer, path);
}

bool layer_is_protected(const struct layer *layer, const char *path, enum files_kind kind)
{
    return is_protected_name(layer, path, kind == FILES_LINK) ||
           has_protected_parent(layer, path) ||
           (kind != FILES_DIRECTORY && is_new_head(layer, path));
}

/* Up is only allowed first, where it is counted from the link's own directory, which is a real one.
 * Behind a name it would be counted from wherever that name leads. */
bool layer_link_stays(const char *path, const char *target)
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

int layer_look(const struct files *files, int dir, const char *name, struct stat *ret_st)
{
    cleanup(files_leave) struct files_guard guard = {0};

    if (files_enter(&guard, files, NULL) < 0) {
        errno = EPERM;
        return -1;
    }
    return fstatat(dir, name, ret_st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT);
}

int layer_openat(const struct files *files, int dir, const char *path, int flags)
{
    cleanup(files_leave) struct files_guard guard = {0};

    if (files_enter(&guard, files, NULL) < 0) {
        errno = EPERM;
        return -1;
    }
    return files_openat(dir, path, flags, 0);
}

ssize_t layer_readlink(const struct files *files, int dir, const char *name, char *target,
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

const char *layer_change_name(enum layer_change change)
{
    static const char *const names[] = {
        [LAYER_CREATED] = "created", [LAYER_CHANGED] = "changed", [LAYER_DELETED] = "deleted"};

    return names[change];
}

const char *layer_obstacle_name(enum layer_obstacle obstacle)
{
    static const char *const names[] = {
        [LAYER_NO_OBSTACLE] = NULL,        [LAYER_CONFLICT] = "conflict",
        [LAYER_PROTECTED] = "protected",   [LAYER_SPECIAL] = "special",
        [LAYER_LEADS_OUT] = "leads_out",   [LAYER_ODD_NAME] = "odd_name",
        [LAYER_UNREADABLE] = "unreadable", [LAYER_FAILED] = "failed",
    };

    return names[obstacle];
}

int layers_show_path(const struct layers *layers, const struct layer_entry *entry, struct buf *out,
                     struct error *err)
{
    if (files_path_reveal(layers->items[entry->index].path, out, err) < 0 ||
        buf_add_str(out, "/", err) < 0)
        return -1;
    return files_path_reveal(entry->path, out, err);
}

bool layers_is_below(const struct layers *layers, const struct layer_entry *entry, const char *path)
{
    cleanup(buf_done) struct buf shown = BUF_OF(8 * PATH_MAX + 2);
    size_t len = strlen(path), skip = 0;
    const char *text;

    while (len > 1 && path[len - 1] == '/')
        len--;
    if (layers_show_path(layers, entry, &shown, NULL) < 0)
        return false;
    text = buf_str(&shown);
    if (path[0] != '/') {
        cleanup(buf_done) struct buf top = {0};

        buf_init(&top, 4 * PATH_MAX + 1);
        if (layers->count != 1 || files_path_reveal(layers->items[0].path, &top, NULL) < 0)
            return false;
        skip = top.len + 1;
    }
    return strncmp(text + skip, path, len) == 0 &&
           (text[skip + len] == '\0' || text[skip + len] == '/');
}

const char *layers_shown(const struct layers *layers)
{
    return layers->shown;
}

void layers_note_shown(struct layers *layers, const char *version)
{
    (void)snprintf(layers->shown, sizeof(layers->shown), "%s", version);
}

void layers_list_digest(const struct layers *layers, const struct layers_list *list,
                        uint8_t digest[SHA256_BYTES])
{
    struct sha256_stream *sha = sha256_begin();

    for (size_t i = 0; i < list->count; i++) {
        const struct layer_entry *e = &list->entries[i];
        const char *top = layers->items[e->index].path;
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

int layers_refresh(const struct layers *layers, int pidfd, struct error *err)
{
    if (setns(pidfd, CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return error_errno(err, "enter the sandbox");
    for (size_t i = 0; i < layers->count; i++)
        if (layers->items[i].seen.fd >= 0 && forget_names(layers->items[i].seen.fd, err) < 0)
            return -1;
    return 0;
}
