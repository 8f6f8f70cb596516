#include "undo/scene.h"

#include <ftw.h>
#include <limits.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/limits.h"

struct scene scene = {.grant = -1, .run = -1};

static char place[] = "/tmp/belljar-undo-XXXXXX";

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *walk)
{
    (void)st;
    (void)walk;
    if (type == FTW_DNR || type == FTW_D)
        (void)chmod(path, 0700);
    (void)remove(path);
    return 0;
}

int scene_enter(void **state)
{
    (void)state;
    memcpy(place + sizeof(place) - 7, "XXXXXX", 6);
    if (!mkdtemp(place) || chdir(place) < 0 || mkdir("grant", 0755) < 0)
        return -1;
    scene.grant = open("grant", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return scene.grant < 0 ? -1 : 0;
}

int scene_leave(void **state)
{
    (void)state;
    scene_crash();
    close_fd(&scene.grant);
    if (chdir("/") < 0)
        return -1;
    return nftw(place, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void scene_begin(const char *run, const struct journal_limits *limits)
{
    static const struct journal_limits all = {64 * MIB, 100000};
    struct error err = {0};

    scene_crash();
    assert_int_equal(mkdir(run, 0700), 0);
    scene.run = open(run, O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(journal_new(scene.run, limits ? limits : &all, &scene.journal, &err), 0);
    assert_int_equal(journal_grant(scene.journal, 0, scene.grant, &err), 0);
}

void scene_seal(void)
{
    struct error err = {0};

    assert_int_equal(journal_seal(scene.journal, &err), 0);
    scene_crash();
}

void scene_crash(void)
{
    journal_free(scene.journal);
    scene.journal = NULL;
    close_fd(&scene.run);
}

/* --- the program --- */

struct spot {
    int parent;
    const char *name;
    struct stat st;
    bool is_there;
};

static struct spot find(const char *path)
{
    const char *slash = strrchr(path, '/');
    char dir[PATH_MAX];
    struct spot s;

    (void)snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    s.name = slash ? slash + 1 : path;
    s.parent = openat(scene.grant, dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_true(s.parent >= 0);
    s.is_there = fstatat(s.parent, s.name, &s.st, AT_SYMLINK_NOFOLLOW) == 0;
    return s;
}

static void ok(int result, struct error *err)
{
    if (result < 0)
        fail_msg("%s", err->message);
}

/* Between an entry and its change, and between two changes: where kill -9 may come. */
static void moment(void)
{
    if (scene.patience > 0 && --scene.patience == 0)
        longjmp(scene.killed, 1);
}

static void announce_create(const char *path)
{
    struct error err = {0};

    ok(journal_create(scene.journal, 0, path, &err), &err);
    moment();
}

static void announce_created(struct spot *s, const char *path)
{
    struct error err = {0};

    moment();
    assert_int_equal(fstatat(s->parent, s->name, &s->st, AT_SYMLINK_NOFOLLOW), 0);
    ok(journal_created(scene.journal, 0, path, &s->st, &err), &err);
    (void)close(s->parent);
}

static void write_text(int fd, const char *text)
{
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void)close(fd);
}

static void open_and_write(const char *path, const char *text, int flag)
{
    struct error err = {0};
    struct spot s = find(path);
    int fd;

    if (s.is_there) {
        ok(journal_change(scene.journal, 0, path, s.parent, s.name, &s.st, &err), &err);
        moment();
        write_text(openat(s.parent, s.name, O_WRONLY | O_CLOEXEC | flag), text);
        (void)close(s.parent);
        return;
    }
    announce_create(path);
    fd = openat(s.parent, s.name, O_WRONLY | O_CLOEXEC | O_CREAT | O_EXCL, 0644);
    announce_created(&s, path);
    write_text(fd, text);
}

void do_write(const char *path, const char *text)
{
    open_and_write(path, text, O_TRUNC);
}

void do_append(const char *path, const char *text)
{
    open_and_write(path, text, O_APPEND);
}

void do_mkdir(const char *path)
{
    struct spot s = find(path);

    announce_create(path);
    assert_int_equal(mkdirat(s.parent, s.name, 0755), 0);
    announce_created(&s, path);
}

void do_symlink(const char *target, const char *path)
{
    struct spot s = find(path);

    announce_create(path);
    assert_int_equal(symlinkat(target, s.parent, s.name), 0);
    announce_created(&s, path);
}

void do_link(const char *from, const char *to)
{
    struct error err = {0};
    struct spot s = find(to);

    announce_create(to);
    assert_int_equal(linkat(scene.grant, from, s.parent, s.name, 0), 0);
    moment();
    assert_int_equal(fstatat(s.parent, s.name, &s.st, AT_SYMLINK_NOFOLLOW), 0);
    ok(journal_linked(scene.journal, 0, to, from, s.parent, s.name, &s.st, &err), &err);
    (void)close(s.parent);
}

void do_fifo(const char *path)
{
    struct spot s = find(path);

    announce_create(path);
    assert_int_equal(mkfifoat(s.parent, s.name, 0644), 0);
    announce_created(&s, path);
}

void do_remove(const char *path)
{
    struct error err = {0};
    struct spot s = find(path);

    assert_true(s.is_there);
    ok(journal_remove(scene.journal, 0, path, s.parent, s.name, &s.st, &err), &err);
    moment();
    assert_int_equal(unlinkat(s.parent, s.name, S_ISDIR(s.st.st_mode) ? AT_REMOVEDIR : 0), 0);
    (void)close(s.parent);
}

void do_rename(const char *from, const char *to)
{
    struct error err = {0};
    struct spot a = find(from), b = find(to);

    if (b.is_there) {
        ok(journal_remove(scene.journal, 0, to, b.parent, b.name, &b.st, &err), &err);
        moment();
    }
    ok(journal_rename(scene.journal, 0, from, to, &a.st, &err), &err);
    moment();
    assert_int_equal(renameat(a.parent, a.name, b.parent, b.name), 0);
    (void)close(a.parent);
    (void)close(b.parent);
}

void do_swap(const char *one, const char *other)
{
    struct error err = {0};
    struct spot a = find(one), b = find(other);

    ok(journal_swap(scene.journal, 0, one, other, &a.st, &err), &err);
    moment();
    assert_int_equal(renameat2(a.parent, a.name, b.parent, b.name, RENAME_EXCHANGE), 0);
    (void)close(a.parent);
    (void)close(b.parent);
}

void do_chmod(const char *path, mode_t mode)
{
    struct error err = {0};
    struct spot s = find(path);

    ok(journal_meta(scene.journal, 0, path, s.parent, s.name, &s.st, &err), &err);
    moment();
    assert_int_equal(fchmodat(s.parent, s.name, mode, 0), 0);
    (void)close(s.parent);
}

void do_xattr(const char *path, const char *name, const char *value)
{
    struct error err = {0};
    struct spot s = find(path);
    int fd = openat(s.parent, s.name, O_RDONLY | O_CLOEXEC);

    ok(journal_meta(scene.journal, 0, path, s.parent, s.name, &s.st, &err), &err);
    moment();
    assert_int_equal(value ? fsetxattr(fd, name, value, strlen(value), 0) : fremovexattr(fd, name),
                     0);
    (void)close(fd);
    (void)close(s.parent);
}

/* --- somebody else --- */

void put(const char *path, const char *text)
{
    write_text(openat(scene.grant, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644), text);
}

char *get(const char *path)
{
    static char text[4096];
    int fd = openat(scene.grant, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

    if (fd >= 0)
        (void)close(fd);
    if (n < 0)
        return NULL;
    text[n] = '\0';
    return text;
}

bool exists(const char *path)
{
    struct stat st;

    return fstatat(scene.grant, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* --- snapshots --- */

static struct buf shot;

static void add_content(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char data[256];
    ssize_t n;

    while (fd >= 0 && (n = read(fd, data, sizeof(data))) > 0)
        (void)buf_add(&shot, data, (size_t)n, NULL);
    if (fd >= 0)
        (void)close(fd);
}

static void add_xattrs(const char *path)
{
    char names[1024], value[1024];
    ssize_t len = llistxattr(path, names, sizeof(names));

    for (char *name = names; name < names + len; name += strlen(name) + 1) {
        ssize_t n = lgetxattr(path, name, value, sizeof(value));

        if (strncmp(name, "user.", 5) == 0)
            (void)buf_printf(&shot, NULL, " %s=%.*s", name, n < 0 ? 0 : (int)n, value);
    }
}

static int shoot(const char *path, const struct stat *st, int type, struct FTW *walk)
{
    char target[PATH_MAX] = "";

    (void)type;
    (void)walk;
    (void)buf_printf(&shot, NULL, "%s %o", path, st->st_mode);
    if (!S_ISDIR(st->st_mode) && !S_ISLNK(st->st_mode))
        (void)buf_printf(&shot, NULL, " %lld.%09ld", (long long)st->st_mtim.tv_sec,
                         st->st_mtim.tv_nsec);
    if (S_ISLNK(st->st_mode) && readlink(path, target, sizeof(target) - 1) > 0)
        (void)buf_printf(&shot, NULL, " -> %s", target);
    if (S_ISREG(st->st_mode)) {
        add_xattrs(path);
        (void)buf_add_str(&shot, " [", NULL);
        add_content(path);
        (void)buf_add_str(&shot, "]", NULL);
    }
    (void)buf_add_str(&shot, "\n", NULL);
    return 0;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char *snapshot(void)
{
    char *lines[1024], *rest, *all;
    size_t n = 0, at = 0;

    buf_init(&shot, MIB);
    assert_int_equal(nftw("grant", shoot, 16, FTW_PHYS), 0);
    rest = shot.data;
    while (n < 1024 && rest && *rest)
        lines[n++] = strsep(&rest, "\n");
    qsort(lines, n, sizeof(*lines), by_text);
    all = calloc(1, shot.len + n + 2);
    for (size_t i = 0; i < n; i++)
        at += (size_t)snprintf(all + at, shot.len + n + 2 - at, "%s\n", lines[i]);
    buf_done(&shot);
    return all;
}
