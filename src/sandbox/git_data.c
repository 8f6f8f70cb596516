#include "sandbox/git_data.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sandbox/fold.h"
#include "sandbox/git_config.h"
#include "sandbox/git_hash.h"
#include "sandbox/git_index_internal.h"
#include "sandbox/git_object.h"

#define SMALL_BYTES ((size_t)1 << 20)

/* Files of the worktree with a protected name are small. */
#define WORKTREE_BYTES ((off_t)16 << 20)

/* 0: it is there and was read. */
static int read_file(int dir, const char *name, size_t limit, struct buf *out)
{
    cleanup_close int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st;

    buf_init(out, limit);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return -1;
    return buf_read_fd(out, fd, NULL);
}

/* The first line. */
static int read_line(int dir, const char *name, char line[PATH_MAX])
{
    cleanup(buf_done) struct buf text = {0};

    if (read_file(dir, name, PATH_MAX, &text) < 0)
        return -1;
    (void)snprintf(line, PATH_MAX, "%s", buf_str(&text));
    line[strcspn(line, "\r\n")] = '\0';
    return *line ? 0 : -1;
}

/* --- the repository --- */

struct repository {
    unsigned id_bytes;
    char worktree[PATH_MAX]; /* absolute; "": not known */
    char setting[PATH_MAX];  /* core.worktree */
};

static void take_setting(void *arg, const char *section, const char *sub, const char *name,
                         const char *value)
{
    struct repository *r = arg;

    if (sub && *sub)
        return;
    if (strcmp(section, "extensions") == 0 && strcmp(name, "objectformat") == 0)
        r->id_bytes = strcmp(value, "sha256") == 0 ? GIT_SHA256_BYTES : GIT_SHA1_BYTES;
    else if (strcmp(section, "core") == 0 && strcmp(name, "worktree") == 0)
        (void)snprintf(r->setting, sizeof(r->setting), "%s", value);
}

static void read_settings(struct repository *r, int dir, const char *name)
{
    cleanup(buf_done) struct buf text = {0};

    if (read_file(dir, name, SMALL_BYTES, &text) == 0)
        (void)git_config_parse(buf_str(&text), text.len, take_setting, r);
}

/* `path`, met in the directory `base`. Links are not looked at: where there is one, the directory
 * cannot be opened later. */
static void resolve(const char *base, const char *path, char ret_path[PATH_MAX])
{
    char whole[2 * PATH_MAX];
    size_t len = 0;
    char *save = NULL;

    (void)snprintf(whole, sizeof(whole), "%s/%s", *path == '/' ? "" : base, path);
    for (char *name = strtok_r(whole, "/", &save); name; name = strtok_r(NULL, "/", &save)) {
        size_t n = strlen(name);

        if (strcmp(name, ".") == 0)
            continue;
        if (strcmp(name, "..") == 0) {
            while (len && ret_path[--len] != '/')
                ;
        } else if (len + n + 1 < PATH_MAX) {
            ret_path[len] = '/';
            memcpy(ret_path + len + 1, name, n);
            len += n + 1;
        }
    }
    ret_path[len] = '\0';
}

static bool is_dot_git(const char *name)
{
    char folded[FOLD_MAX];

    return fold_name(name, strlen(name), folded) == 4 && memcmp(folded, ".git", 4) == 0;
}

/* The directory above `.git`. */
static void take_parent(const char *git, char ret_path[PATH_MAX])
{
    const char *slash = strrchr(git, '/');

    if (slash && is_dot_git(slash + 1))
        (void)snprintf(ret_path, PATH_MAX, "%.*s", slash > git ? (int)(slash - git) : 1, git);
}

/* `git` is the path of the git directory, and `dir` a descriptor of it. */
static void read_repository(struct repository *r, int dir, const char *git)
{
    char line[PATH_MAX];
    bool is_worktree = read_line(dir, "commondir", line) == 0;
    cleanup_close int common =
        openat(dir, is_worktree ? line : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

    *r = (struct repository){.id_bytes = GIT_SHA1_BYTES};
    read_settings(r, common, "config");
    if (is_worktree)
        r->setting[0] = '\0'; /* it is the first worktree's */
    read_settings(r, dir, "config.worktree");
    if (r->setting[0])
        resolve(git, r->setting, r->worktree);
    else if (is_worktree && read_line(dir, "gitdir", line) == 0 && strrchr(line, '/')) {
        *strrchr(line, '/') = '\0';
        resolve(git, line, r->worktree);
    } else if (!is_worktree)
        take_parent(git, r->worktree);
}

/* --- an index --- */

struct look {
    struct git_data *data;
    struct repository repository;
    int worktree; /* -1: not known */
};

static bool has_id(const struct look *l, const void *content, size_t len, const uint8_t *id)
{
    uint8_t digest[GIT_HASH_MAX];
    struct git_hash hash;
    char header[32];

    (void)snprintf(header, sizeof(header), "blob %zu", len);
    git_hash_begin(&hash, l->repository.id_bytes);
    git_hash_feed(&hash, header, strlen(header) + 1);
    git_hash_feed(&hash, content, len);
    git_hash_end(&hash, digest);
    return memcmp(digest, id, l->repository.id_bytes) == 0;
}

/* Opens something in the worktree without following any link. */
static int open_in_worktree(const struct look *l, const char *path, int flags)
{
    struct open_how how = {
        .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
    };
    const char *slash = strrchr(path, '/');
    char parent[PATH_MAX];
    cleanup_close int dir = -1;

    (void)snprintf(parent, sizeof(parent), "%.*s", slash ? (int)(slash - path) : 1,
                   slash ? path : ".");
    dir = l->worktree < 0 ? -1 : (int)syscall(SYS_openat2, l->worktree, parent, &how, sizeof(how));
    return dir < 0
               ? -1
               : openat(dir, slash ? slash + 1 : path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

/* Whether the worktree has just this at the path: `git add` of a file that the user made. */
static bool is_in_worktree(const struct look *l, const char *path, uint32_t mode, const uint8_t *id)
{
    cleanup_close int fd = open_in_worktree(l, path, mode == GIT_MODE_LINK ? O_PATH : O_RDONLY);
    cleanup(buf_done) struct buf content = BUF_OF((size_t)WORKTREE_BYTES);
    char link[PATH_MAX];
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return false;
    if (mode == GIT_MODE_LINK) {
        ssize_t n = S_ISLNK(st.st_mode) ? readlinkat(fd, "", link, sizeof(link)) : -1;

        return n >= 0 && has_id(l, link, (size_t)n, id);
    }
    if (!S_ISREG(st.st_mode) || st.st_size > WORKTREE_BYTES ||
        (mode == GIT_MODE_EXECUTABLE) != !!(st.st_mode & S_IXUSR))
        return false;
    return buf_read_fd(&content, fd, NULL) == 0 && has_id(l, buf_str(&content), content.len, id);
}

static const char *judge_entry(void *arg, const char *path, uint32_t mode, const uint8_t *id)
{
    const struct look *l = arg;
    char whole[2 * PATH_MAX];
    const char *why;

    (void)snprintf(whole, sizeof(whole), "%s/%s", l->repository.worktree, path);
    why = l->data->judge(l->data->arg, whole);
    if (!why || (mode != GIT_MODE_SUBMODULE && is_in_worktree(l, path, mode, id)))
        return NULL;
    return "an entry of the index has a protected name, and is not what is in the worktree";
}

static int check_index(struct git_data *d, const struct buf *now, struct buf *ret_data)
{
    const char *name = strrchr(d->path, '/');
    struct look look = {.data = d, .worktree = -1};
    struct git_index_check check = {.judge = judge_entry, .arg = &look};
    cleanup(buf_done) struct buf old = {0};
    char git[PATH_MAX];
    int r;

    d->why = "it is not in a git directory";
    if (d->dir < 0 || !name || name - d->path >= PATH_MAX)
        return -1;
    (void)snprintf(git, sizeof(git), "%.*s", (int)(name - d->path), d->path);
    read_repository(&look.repository, d->dir, git);
    if (look.repository.worktree[0])
        look.worktree = d->open(d->arg, look.repository.worktree);
    if (read_file(d->dir, name + 1, GIT_INDEX_BYTES, &old) < 0)
        old.len = 0;
    check.id_bytes = look.repository.id_bytes;
    r = git_index_check(&check, buf_str(now), now->len, buf_str(&old), old.len, ret_data);
    close_fd(&look.worktree);
    d->why = check.why;
    (void)snprintf(d->entry, sizeof(d->entry), "%s", check.path);
    return r;
}

/* --- the others --- */

/* The last two names of the path. */
static int check_object(struct git_data *d, const struct buf *now, struct buf *ret_data)
{
    const char *name = strrchr(d->path, '/');
    uint8_t id[GIT_HASH_MAX];
    unsigned id_bytes;
    char directory[3];

    d->why = "its name is not that of a git object";
    if (!name || name - d->path < 3 || name[-3] != '/')
        return -1;
    (void)snprintf(directory, sizeof(directory), "%.2s", name - 2);
    if (!git_object_name(directory, name + 1, id, &id_bytes))
        return -1;
    d->why = git_object_check((const uint8_t *)buf_str(now), now->len, id, id_bytes);
    if (!d->why && buf_add(ret_data, buf_str(now), now->len, NULL) < 0)
        d->why = "there is not enough memory to check it";
    return d->why ? -1 : 0;
}

static bool has_line(const struct buf *text, const char *line, size_t len)
{
    const char *at = buf_str(text), *end = at + text->len;

    for (; (at = memmem(at, (size_t)(end - at), line, len)); at++)
        if ((at == buf_str(text) || at[-1] == '\n') && (at + len == end || at[len] == '\n'))
            return true;
    return false;
}

/* Git takes another object for one that has a name below refs/replace. */
static int check_packed_refs(struct git_data *d, const struct buf *now, struct buf *ret_data)
{
    static const char replace[] = "refs/replace";
    const char *name = strrchr(d->path, '/'), *start = buf_str(now), *end = start + now->len;
    cleanup(buf_done) struct buf old = {0};
    unsigned lines = 0;

    d->why = "it has a reference below refs/replace, which makes git use other objects";
    if (d->dir < 0 || !name || read_file(d->dir, name + 1, GIT_DATA_BYTES, &old) < 0)
        old.len = 0;
    for (const char *at = start; (at = memmem(at, (size_t)(end - at), replace, strlen(replace)));) {
        const char *from = memrchr(start, '\n', (size_t)(at - start));
        const char *to = memchr(at, '\n', (size_t)(end - at));

        from = from ? from + 1 : start;
        to = to ? to : end;
        if (++lines > 10000 || !has_line(&old, from, (size_t)(to - from)))
            return -1;
        at = to;
    }
    d->why = "there is not enough memory to check it";
    return buf_add(ret_data, start, now->len, NULL);
}

/* MERGE_RR lists paths with conflicts whose resolutions git keeps in rr-cache. It is empty if there
 * are none. */
static int check_merge_rr(struct git_data *d, const struct buf *now)
{
    d->why = "git reads the files that it names, so it must be empty";
    return now->len ? -1 : 0;
}

int git_data_check(struct git_data *d, const struct buf *now, struct buf *ret_data)
{
    d->entry[0] = '\0';
    d->why = "it cannot be checked";
    buf_init(ret_data, GIT_DATA_BYTES);
    switch (d->kind) {
    case PROTECTED_DATA_INDEX:
        return check_index(d, now, ret_data);
    case PROTECTED_DATA_PACKED_REFS:
        return check_packed_refs(d, now, ret_data);
    case PROTECTED_DATA_MERGE_RR:
        return check_merge_rr(d, now);
    case PROTECTED_DATA_OBJECT:
        return check_object(d, now, ret_data);
    case PROTECTED_DATA_NONE:
    case PROTECTED_DATA_OBJECTS:
        break;
    }
    return -1;
}
