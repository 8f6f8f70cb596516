#include "undo/view.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "sandbox/files_internal.h"

/* Of a node. */
enum state {
    PLAIN = 0, /* on the disk, where its directory is */
    ELSEWHERE, /* on the disk, at the path of struct shown */
    INVENTED,  /* not on the disk: struct shown has what it would be */
    ABSENT,    /* would be gone */
};

struct shown {
    struct stat st;
    char path[];
};

int view_init(struct view *v, struct files *dirs, size_t count, bool is_rehearsal,
              struct error *err)
{
    *v = (struct view){.dirs = dirs, .count = count};
    if (is_rehearsal && !(v->overlay = tree_new()))
        return error_memory(err);
    return 0;
}

void view_done(struct view *v)
{
    if (v->overlay)
        for (struct tree_node *n = tree_last(v->overlay); n; n = n->made_before)
            free((void *)n->data);
    tree_free(v->overlay);
    v->overlay = NULL;
}

/* --- where something is on the disk --- */

struct found {
    enum state state;
    struct tree_node *node; /* of the path itself, or NULL */
    char disk[PATH_MAX];    /* not of INVENTED and ABSENT */
};

static int join(char disk[PATH_MAX], const char *name, size_t len)
{
    size_t used = strlen(disk);

    if (used + len + 2 > PATH_MAX)
        return -1;
    (void)snprintf(disk + used, PATH_MAX - used, "%s%.*s", used ? "/" : "", (int)len, name);
    return 0;
}

/* One part further down. `at`: the node so far, NULL: none. */
static void step(struct view *v, struct found *f, struct tree_node **at, const char *name,
                 size_t len)
{
    struct tree_node *child = *at ? tree_child(v->overlay, *at, name, len) : NULL;
    const struct shown *shown = child ? child->data : NULL;

    *at = child;
    if (child && child->state != PLAIN) {
        f->state = (enum state)child->state;
        f->disk[0] = '\0';
        if (f->state == ELSEWHERE)
            (void)snprintf(f->disk, PATH_MAX, "%s", shown->path);
        return;
    }
    if (f->state == INVENTED || f->state == ABSENT || join(f->disk, name, len) < 0)
        f->state = ABSENT;
}

static void find(struct view *v, unsigned grant, const char *path, struct found *f)
{
    struct tree_node *at;

    *f = (struct found){.state = PLAIN};
    if (!v->overlay) {
        (void)snprintf(f->disk, PATH_MAX, "%s", path);
        return;
    }
    at = tree_root(v->overlay, grant);
    while (*path) {
        size_t len = strcspn(path, "/");

        step(v, f, &at, path, len);
        path += len + (path[len] == '/');
    }
    f->node = at;
}

/* --- looking --- */

int view_open(struct view *v, unsigned grant, const char *path)
{
    cleanup(files_leave) struct files_guard guard = {0};
    struct found f;

    find(v, grant, path, &f);
    if (f.state == INVENTED || f.state == ABSENT) {
        errno = ENOENT;
        return -1;
    }
    if (grant >= v->count || files_enter(&guard, &v->dirs[grant], NULL) < 0) {
        errno = EACCES;
        return -1;
    }
    return files_openat(v->dirs[grant].fd, f.disk, O_PATH, 0);
}

int view_look(struct view *v, unsigned grant, const char *path, struct stat *ret_st)
{
    cleanup_close int fd = -1;
    struct found f;

    find(v, grant, path, &f);
    if (f.state == ABSENT)
        return 0;
    if (f.state == INVENTED) {
        *ret_st = ((const struct shown *)f.node->data)->st;
        return 1;
    }
    fd = view_open(v, grant, path);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
    return fstat(fd, ret_st) < 0 ? -1 : 1;
}

int view_has_parent(struct view *v, unsigned grant, const char *path)
{
    const char *slash = strrchr(path, '/');
    char dir[PATH_MAX];
    struct stat st;

    (void)snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - path) : 0, path);
    return view_look(v, grant, dir, &st) == 1 && S_ISDIR(st.st_mode);
}

/* Whether a name on the disk would still be there. */
static bool is_covered(struct view *v, const struct found *f, const char *name)
{
    const struct tree_node *child =
        f->node ? tree_child(v->overlay, f->node, name, strlen(name)) : NULL;

    return child && child->state == ABSENT;
}

static bool is_empty_on_disk(struct view *v, unsigned grant, const struct found *f)
{
    cleanup(files_leave) struct files_guard guard = {0};
    cleanup_closedir DIR *dir = NULL;
    const struct dirent *entry;
    int fd;

    if (files_enter(&guard, &v->dirs[grant], NULL) < 0)
        return false;
    fd = files_openat(v->dirs[grant].fd, f->disk, O_RDONLY | O_DIRECTORY, 0);
    dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        if (fd >= 0)
            (void)close(fd);
        return false;
    }
    while ((entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            !is_covered(v, f, entry->d_name))
            return false;
    return true;
}

int view_is_empty(struct view *v, unsigned grant, const char *path)
{
    struct found f;

    find(v, grant, path, &f);
    if (f.state == ABSENT || grant >= v->count)
        return 0;
    for (const struct tree_node *n = f.node ? f.node->first : NULL; n; n = n->next)
        if (n->state == ELSEWHERE || n->state == INVENTED)
            return 0;
    return f.state == INVENTED || is_empty_on_disk(v, grant, &f);
}

/* --- a rehearsal --- */

static int set_node(struct tree_node *n, enum state state, const struct stat *st, const char *path)
{
    struct shown *shown = NULL;

    if (!n)
        return -1;
    if (state == ELSEWHERE || state == INVENTED) {
        shown = calloc(1, sizeof(*shown) + strlen(path) + 1);
        if (!shown)
            return -1;
        if (st)
            shown->st = *st;
        memcpy(shown->path, path, strlen(path) + 1);
    }
    free((void *)n->data);
    n->data = shown;
    n->state = (int)state;
    return 0;
}

int view_put(struct view *v, unsigned grant, const char *path, struct stat *st)
{
    if (!v->overlay)
        return 0;
    st->st_dev = (dev_t)-1;
    st->st_ino = ++v->invented;
    return set_node(tree_make(v->overlay, grant, path), INVENTED, st, "");
}

int view_take(struct view *v, unsigned grant, const char *path)
{
    return v->overlay ? set_node(tree_make(v->overlay, grant, path), ABSENT, NULL, "") : 0;
}

/* The node of something, which knows by itself where it is. */
static struct tree_node *settle(struct view *v, unsigned grant, const char *path)
{
    struct tree_node *n;
    struct found f;

    find(v, grant, path, &f);
    n = tree_make(v->overlay, grant, path);
    if (n && f.state == PLAIN && set_node(n, ELSEWHERE, NULL, f.disk) < 0)
        return NULL;
    return n;
}

int view_move(struct view *v, unsigned grant, const char *from, const char *to)
{
    struct tree_node *n;

    if (!v->overlay)
        return 0;
    n = settle(v, grant, from);
    if (!n || tree_move(v->overlay, n, grant, to) < 0)
        return -1;
    return view_take(v, grant, from);
}

int view_link(struct view *v, unsigned grant, const char *from, const char *to)
{
    const struct tree_node *n;
    const struct shown *shown;

    if (!v->overlay)
        return 0;
    n = settle(v, grant, from);
    shown = n ? n->data : NULL;
    return shown ? set_node(tree_make(v->overlay, grant, to), (enum state)n->state, &shown->st,
                            shown->path)
                 : -1;
}

int view_swap(struct view *v, unsigned grant, const char *one, const char *other)
{
    struct tree_node *a, *b;

    if (!v->overlay)
        return 0;
    a = settle(v, grant, one);
    b = settle(v, grant, other);
    if (!a || !b)
        return -1;
    tree_detach(v->overlay, b);
    if (tree_move(v->overlay, a, grant, other) < 0)
        return -1;
    return tree_move(v->overlay, b, grant, one);
}
