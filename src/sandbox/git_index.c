#include "sandbox/git_index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sandbox/fold.h"
#include "sandbox/git_index_internal.h"

#define HEADER_BYTES 12u
#define STAT_BYTES   40u /* before the object */
#define MODE_AT      24u

#define FLAG_EXTENDED  0x4000u
#define FLAG_LENGTH    0x0fffu
#define EXTENDED_KNOWN 0x6000u /* skip-worktree, intent-to-add */

#define PATH_BYTES 4096u
/* All paths of version 4, which has only what differs from the one before: so many bytes for each
 * byte of the file. An ordinary index has one or two. */
#define PATHS_RATIO 8u
#define PATHS_FREE  ((size_t)64 << 10)

/* Steps for comparing paths: so many for each byte of the file. A step is 64 bytes of one
 * comparison. An ordinary entry has 80 bytes or more and takes about 60 steps. */
#define WORK_RATIO 4u
#define WORK_FREE  ((size_t)64 << 10)
#define STEP_BYTES 64u

#define NOT_INDEX "it is not an index that git would write"

static unsigned get_be16(const uint8_t *p)
{
    return (unsigned)p[0] << 8 | p[1];
}

static void file_done(struct index_file *f)
{
    free(f->entries);
    free(f->paths);
}

/* --- entries --- */

struct reader {
    struct index_file *f;
    uint32_t version;
    size_t at;
    size_t paths_len, paths_size;
};

/* The number of bytes to drop from the end of the previous path. Git's encoding: seven bits each,
 * the first the highest, and one added with each further byte. */
static int read_strip(struct reader *r, size_t *ret_strip)
{
    size_t value = 0;

    for (int i = 0; i < 4 && r->at < r->f->end; i++) {
        uint8_t c = r->f->data[r->at++];

        value = (value << 7) + (c & 127);
        if (!(c & 128)) {
            *ret_strip = value;
            return 0;
        }
        value++;
    }
    return -1;
}

/* Version 4: the end of the path before is replaced. Paths are stored as offsets until all are
 * there, since the memory moves. */
static int read_short_path(struct reader *r, struct index_entry *e)
{
    struct index_file *f = r->f;
    const struct index_entry *before = f->n_entries ? e - 1 : NULL;
    size_t old_len = before ? before->len : 0, strip, kept, more;
    const uint8_t *end;

    if (read_strip(r, &strip) < 0 || strip > old_len)
        return -1;
    kept = old_len - strip;
    end = memchr(f->data + r->at, '\0', f->end - r->at);
    if (!end)
        return -1;
    more = (size_t)(end - (f->data + r->at));
    e->len = kept + more;
    if (e->len >= PATH_BYTES || r->paths_len + e->len + 1 > PATHS_FREE + f->end * PATHS_RATIO)
        return -1;
    if (r->paths_len + e->len + 1 > r->paths_size) {
        size_t size = 2 * (r->paths_len + PATH_BYTES);
        char *grown = realloc(f->paths, size);

        if (!grown)
            return -1;
        f->paths = grown;
        r->paths_size = size;
    }
    if (kept)
        memmove(f->paths + r->paths_len, f->paths + r->paths_len - old_len - 1, kept);
    memcpy(f->paths + r->paths_len + kept, f->data + r->at, more + 1);
    r->paths_len += e->len + 1;
    r->at += more + 1;
    return 0;
}

/* Versions 2 and 3: the whole path, then one to eight NULs up to a multiple of eight. */
static int read_long_path(struct reader *r, struct index_entry *e, size_t start)
{
    struct index_file *f = r->f;
    const uint8_t *end = memchr(f->data + r->at, '\0', f->end - r->at);
    size_t next;

    if (!end)
        return -1;
    e->path = (const char *)f->data + r->at;
    e->len = (size_t)(end - (f->data + r->at));
    if (e->len >= PATH_BYTES)
        return -1;
    next = start + ((r->at - start + e->len + 8) & ~(size_t)7);
    if (next > f->end)
        return -1;
    for (size_t i = r->at + e->len; i < next; i++)
        if (f->data[i])
            return -1;
    r->at = next;
    return 0;
}

static int read_entry(struct reader *r, struct index_entry *e)
{
    struct index_file *f = r->f;
    size_t start = r->at;
    unsigned flags;

    if (f->end - r->at < STAT_BYTES + f->id_bytes + 4)
        return -1;
    e->mode = get_be32(f->data + r->at + MODE_AT);
    e->id = f->data + r->at + STAT_BYTES;
    r->at += STAT_BYTES + f->id_bytes;
    flags = get_be16(f->data + r->at);
    r->at += 2;
    e->stage = flags >> 12 & 3;
    if (flags & FLAG_EXTENDED) {
        if (r->version < 3 || (get_be16(f->data + r->at) & ~EXTENDED_KNOWN))
            return -1;
        r->at += 2;
    }
    if (r->version == 4 ? read_short_path(r, e) < 0 : read_long_path(r, e, start) < 0)
        return -1;
    return (flags & FLAG_LENGTH) == (e->len < FLAG_LENGTH ? e->len : FLAG_LENGTH) ? 0 : -1;
}

static int compare(const struct index_entry *a, const struct index_entry *b)
{
    int r = memcmp(a->path, b->path, a->len < b->len ? a->len : b->len);

    if (r == 0 && a->len != b->len)
        return a->len < b->len ? -1 : 1;
    return r;
}

/* Git finds entries by halving; out of order, it would see others than are looked at here. */
static bool is_in_order(const struct index_entry *a, const struct index_entry *b)
{
    int r = compare(a, b);

    return r < 0 || (r == 0 && a->stage && a->stage < b->stage);
}

static int read_entries(struct reader *r, size_t count)
{
    struct index_file *f = r->f;

    f->entries = calloc(count ? count : 1, sizeof(*f->entries));
    if (!f->entries)
        return -1;
    for (; f->n_entries < count; f->n_entries++)
        if (read_entry(r, &f->entries[f->n_entries]) < 0)
            return -1;
    if (r->version == 4)
        for (size_t i = 0, at = 0; i < count; at += f->entries[i++].len + 1)
            f->entries[i].path = f->paths + at;
    for (size_t i = 0; i < count; i++) {
        if (i && !is_in_order(&f->entries[i - 1], &f->entries[i]))
            return -1;
        f->has_directories |= f->entries[i].mode == GIT_MODE_DIRECTORY;
    }
    f->entries_end = r->at;
    return 0;
}

static int read_file(struct index_file *f, const void *data, size_t len, unsigned id_bytes)
{
    struct reader r = {.f = f, .at = HEADER_BYTES};
    size_t count;

    f->data = data;
    f->id_bytes = id_bytes;
    if (len < HEADER_BYTES + id_bytes || len > GIT_INDEX_BYTES || memcmp(data, "DIRC", 4) != 0)
        return -1;
    f->end = len - id_bytes;
    f->work = WORK_FREE + len * WORK_RATIO;
    r.version = get_be32(f->data + 4);
    count = get_be32(f->data + 8);
    if (r.version < 2 || r.version > 4 || count > len / (STAT_BYTES + id_bytes))
        return -1;
    return read_entries(&r, count);
}

/* --- what is in the paths --- */

static bool is_git(const char *name, size_t len)
{
    char folded[FOLD_MAX];
    size_t n = fold_name(name, len, folded);

    return n == 0 || (n == 4 && memcmp(folded, ".git", 4) == 0) ||
           (n >= 4 && memcmp(folded, "git~", 4) == 0);
}

/* As git's own rules for paths that it adds. */
static const char *judge_path(const struct index_entry *e)
{
    static const char *const never_links[] = {".gitmodules", ".gitattributes", ".gitignore",
                                              ".mailmap"};
    const char *at = e->path;

    for (;;) {
        size_t len = (size_t)(strchrnul(at, '/') - at);

        if (len == 0)
            return "an entry of the index is not a path in the worktree";
        if ((len == 1 && at[0] == '.') || (len == 2 && at[0] == '.' && at[1] == '.'))
            return "an entry of the index leads out of the worktree";
        if (is_git(at, len))
            return "an entry of the index leads into a git directory";
        if (e->mode == GIT_MODE_LINK && !at[len]) {
            char folded[FOLD_MAX];
            size_t n = fold_name(at, len, folded);

            for (size_t i = 0; i < ARRAY_SIZE(never_links); i++)
                if (strlen(never_links[i]) == n && memcmp(never_links[i], folded, n) == 0)
                    return "an entry of the index makes a link of a file that git obeys";
        }
        /* The broker lets none come into being outside of git directories either: with two more
         * names beside it, the directory would be a git directory. */
        if (len == 4 && memcmp(at, "HEAD", 4) == 0)
            return "an entry of the index is a file that makes its directory a git directory";
        if (!at[len])
            return NULL;
        at += len + 1;
    }
}

/* The first entry that is not before the first `len` bytes of `path`. */
static size_t lower_bound(struct index_file *f, const char *path, size_t len)
{
    const struct index_entry wanted = {.path = path, .len = len};
    size_t low = 0, high = f->n_entries;

    while (low < high) {
        size_t middle = (low + high) / 2, steps = 1 + len / STEP_BYTES;

        f->work -= steps < f->work ? steps : f->work;
        if (compare(&f->entries[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool has_file(struct index_file *f, const char *path, size_t len)
{
    size_t at = lower_bound(f, path, len);

    return at < f->n_entries && f->entries[at].len == len &&
           memcmp(f->entries[at].path, path, len) == 0 && f->entries[at].stage == 0;
}

/* The number of bytes of the path that were checked with the entry `before`, which may be NULL. */
static size_t common_bytes(const struct index_entry *before, const struct index_entry *e)
{
    size_t n = 0;

    while (before && n < before->len && n < e->len && before->path[n] == e->path[n])
        n++;
    return n;
}

/* A path that is a file and a directory at the same time. During a merge git has such paths.
 * `before` has been found to be in order: the directories that both are in need no other look. */
static bool is_file_and_directory(struct index_file *f, const struct index_entry *e,
                                  const struct index_entry *before)
{
    char below[PATH_BYTES + 1];
    size_t at;

    if (e->stage)
        return false;
    for (const char *slash = strchr(e->path + common_bytes(before, e), '/'); slash && f->work;
         slash = strchr(slash + 1, '/'))
        if (has_file(f, e->path, (size_t)(slash - e->path)))
            return true;
    memcpy(below, e->path, e->len);
    below[e->len] = '/';
    at = lower_bound(f, below, e->len + 1);
    return at < f->n_entries && f->entries[at].len > e->len &&
           memcmp(f->entries[at].path, below, e->len + 1) == 0 && f->entries[at].stage == 0;
}

static const char *judge_new(const struct git_index_check *check, struct index_file *f,
                             const struct index_entry *e, const struct index_entry *before)
{
    const char *why;

    if (e->mode == GIT_MODE_DIRECTORY)
        return "a directory of a sparse index cannot be checked";
    if (e->mode != GIT_MODE_FILE && e->mode != GIT_MODE_EXECUTABLE && e->mode != GIT_MODE_LINK &&
        e->mode != GIT_MODE_SUBMODULE)
        return NOT_INDEX;
    why = judge_path(e);
    if (!why && is_file_and_directory(f, e, before))
        why = "an entry of the index is a file and a directory at the same time";
    if (!why && !f->work)
        why = "the paths of the index are too long and too many to be checked";
    return why ? why : check->judge(check->arg, e->path, e->mode, e->id);
}

/* Both are in the same order. */
static int judge_entries(struct git_index_check *check, struct index_file *now,
                         const struct index_file *old)
{
    const struct index_entry *judged = NULL; /* the last one, of those that are not in conflict */
    size_t k = 0;

    for (size_t i = 0; i < now->n_entries; i++) {
        const struct index_entry *e = &now->entries[i], *was = NULL;
        int r = 1;

        for (; k < old->n_entries; k++) {
            was = &old->entries[k];
            r = compare(was, e);
            if (r > 0 || (r == 0 && was->stage >= e->stage))
                break;
            r = 1;
        }
        if (r == 0 && was->stage == e->stage && was->mode == e->mode &&
            memcmp(was->id, e->id, now->id_bytes) == 0)
            continue;
        check->why = judge_new(check, now, e, judged);
        if (check->why) {
            (void)snprintf(check->path, sizeof(check->path), "%s", e->path);
            return -1;
        }
        if (e->stage == 0)
            judged = e;
    }
    return 0;
}

/* --- extensions --- */

/* 1: it is kept; 0: git does without; -1: git could not read the index without it, or with it. */
static int judge_extension(const struct index_file *f, const uint8_t *data, size_t len)
{
    const uint8_t *name = data - 8;

    if (memcmp(name, "TREE", 4) == 0)
        return index_tree_is_true(f, data, len);
    if (memcmp(name, "sdir", 4) == 0)
        return len == 0 ? 1 : -1;
    /* Extensions with entry offsets for threads (EOIE, IEOT), unchanged files (FSMN, UNTR) and
     * resolved conflicts (REUC): git can rebuild all of them, and none can be checked. */
    return name[0] >= 'A' && name[0] <= 'Z' ? 0 : -1;
}

static int copy_extensions(struct git_index_check *check, const struct index_file *f,
                           struct buf *out)
{
    size_t at = f->entries_end;

    while (at < f->end) {
        size_t len;
        int r;

        check->why = NOT_INDEX;
        if (f->end - at < 8)
            return -1;
        len = get_be32(f->data + at + 4);
        at += 8;
        if (len > f->end - at)
            return -1;
        if (memcmp(f->data + at - 8, "link", 4) == 0) {
            check->why = "a split index cannot be checked; `git update-index --no-split-index` "
                         "outside makes it whole";
            return -1;
        }
        r = judge_extension(f, f->data + at, len);
        if (r < 0)
            return -1;
        check->why = "there is not enough memory to check it";
        if (r > 0 && buf_add(out, f->data + at - 8, len + 8, NULL) < 0)
            return -1;
        at += len;
    }
    return 0;
}

static int copy_index(struct git_index_check *check, const struct index_file *f, struct buf *out)
{
    uint8_t digest[GIT_HASH_MAX];
    struct git_hash hash;

    check->why = "there is not enough memory to check it";
    if (buf_add(out, f->data, f->entries_end, NULL) < 0 || copy_extensions(check, f, out) < 0)
        return -1;
    git_hash_begin(&hash, f->id_bytes);
    git_hash_feed(&hash, out->data, out->len);
    git_hash_end(&hash, digest);
    return buf_add(out, digest, f->id_bytes, NULL);
}

int git_index_check(struct git_index_check *check, const void *now, size_t now_len, const void *old,
                    size_t old_len, struct buf *ret_index)
{
    cleanup(file_done) struct index_file new_file = {0};
    cleanup(file_done) struct index_file old_file = {0};

    check->path[0] = '\0';
    check->why = now_len > GIT_INDEX_BYTES ? "the index is too large to be checked" : NOT_INDEX;
    if (read_file(&new_file, now, now_len, check->id_bytes) < 0)
        return -1;
    if (old_len && read_file(&old_file, old, old_len, check->id_bytes) < 0)
        old_file.n_entries = 0;
    if (judge_entries(check, &new_file, &old_file) < 0)
        return -1;
    return copy_index(check, &new_file, ret_index);
}
