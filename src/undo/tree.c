#include "undo/tree.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 256

struct tree {
    struct tree_node **slots; /* by parent and name */
    size_t n_slots, count;
    struct tree_node *last;
    struct tree_node *roots; /* linked by `next` */
};

struct tree *tree_new(void)
{
    struct tree *t = calloc(1, sizeof(*t));

    if (!t)
        return NULL;
    t->n_slots = FIRST_SLOTS;
    t->slots = calloc(t->n_slots, sizeof(struct tree_node *));
    if (!t->slots) {
        free(t);
        return NULL;
    }
    return t;
}

void tree_free(struct tree *t)
{
    struct tree_node *before;

    if (!t)
        return;
    for (struct tree_node *n = t->last; n; n = before) {
        before = n->made_before;
        free(n->name);
        free(n);
    }
    free(t->slots);
    free(t);
}

struct tree_node *tree_last(const struct tree *t)
{
    return t->last;
}

/* --- the table --- */

static size_t slot_of(const struct tree *t, const struct tree_node *dir, const char *name,
                      size_t len)
{
    uint64_t hash = (uint64_t)(uintptr_t)dir * UINT64_C(0x9e3779b97f4a7c15);

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)name[i]) * UINT64_C(0x100000001b3);
    return (size_t)(hash ^ hash >> 32) & (t->n_slots - 1);
}

static void chain_in(struct tree *t, struct tree_node *n)
{
    size_t slot = slot_of(t, n->parent, n->name, strlen(n->name));

    n->chain = t->slots[slot];
    t->slots[slot] = n;
}

static void chain_out(struct tree *t, struct tree_node *n)
{
    struct tree_node **at = &t->slots[slot_of(t, n->parent, n->name, strlen(n->name))];

    while (*at && *at != n)
        at = &(*at)->chain;
    if (*at)
        *at = n->chain;
    n->chain = NULL;
}

/* A table that cannot grow is slower, not wrong. */
static void grow(struct tree *t)
{
    struct tree_node **old = t->slots, **slots;
    size_t n_old = t->n_slots;

    if (t->count < t->n_slots || !(slots = calloc(2 * n_old, sizeof(struct tree_node *))))
        return;
    t->slots = slots;
    t->n_slots = 2 * n_old;
    for (size_t i = 0; i < n_old; i++)
        for (struct tree_node *n = old[i], *next; n; n = next) {
            next = n->chain;
            chain_in(t, n);
        }
    free(old);
}

static struct tree_node *node_new(struct tree *t, const char *name, size_t len)
{
    struct tree_node *n = calloc(1, sizeof(*n));

    if (!n || !(n->name = strndup(name, len))) {
        free(n);
        return NULL;
    }
    n->made_before = t->last;
    t->last = n;
    t->count++;
    grow(t);
    return n;
}

static void attach(struct tree *t, struct tree_node *n, struct tree_node *dir)
{
    n->parent = dir;
    n->is_attached = true;
    n->previous = NULL;
    n->next = dir->first;
    if (dir->first)
        dir->first->previous = n;
    dir->first = n;
    chain_in(t, n);
}

void tree_detach(struct tree *t, struct tree_node *n)
{
    if (!n->is_attached || !n->parent)
        return;
    chain_out(t, n);
    if (n->previous)
        n->previous->next = n->next;
    else
        n->parent->first = n->next;
    if (n->next)
        n->next->previous = n->previous;
    n->parent = n->next = n->previous = NULL;
    n->is_attached = false;
}

/* --- paths --- */

struct tree_node *tree_root(struct tree *t, unsigned grant)
{
    struct tree_node *n = t->roots;

    while (n && n->grant != grant)
        n = n->next;
    if (n || !(n = node_new(t, "", 0)))
        return n;
    n->grant = grant;
    n->is_attached = true;
    n->next = t->roots;
    t->roots = n;
    return n;
}

struct tree_node *tree_child(const struct tree *t, const struct tree_node *dir, const char *name,
                             size_t len)
{
    struct tree_node *n = t->slots[slot_of(t, dir, name, len)];

    while (n && (n->parent != dir || strncmp(n->name, name, len) != 0 || n->name[len]))
        n = n->chain;
    return n;
}

static struct tree_node *walk(struct tree *t, struct tree_node *at, const char *path, size_t len,
                              bool makes)
{
    const char *end = path + len;

    while (at && path < end) {
        const char *slash = memchr(path, '/', (size_t)(end - path));
        size_t part = (size_t)((slash ? slash : end) - path);
        struct tree_node *child = tree_child(t, at, path, part);

        if (!child && makes && (child = node_new(t, path, part)))
            attach(t, child, at);
        at = child;
        path += part + (slash ? 1 : 0);
    }
    return at;
}

struct tree_node *tree_make(struct tree *t, unsigned grant, const char *path)
{
    return walk(t, tree_root(t, grant), path, strlen(path), true);
}

struct tree_node *tree_find(struct tree *t, unsigned grant, const char *path)
{
    return walk(t, tree_root(t, grant), path, strlen(path), false);
}

static bool is_below(const struct tree_node *n, const struct tree_node *above)
{
    while (n && n != above)
        n = n->parent;
    return n != NULL;
}

int tree_move(struct tree *t, struct tree_node *node, unsigned grant, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    struct tree_node *dir, *there;
    char *copy;

    dir = walk(t, tree_root(t, grant), path, slash ? (size_t)(slash - path) : 0, true);
    if (!dir || is_below(dir, node))
        return -1;
    there = tree_child(t, dir, name, strlen(name));
    if (there == node)
        return 0;
    copy = strdup(name);
    if (!copy)
        return -1;
    if (there)
        tree_detach(t, there);
    tree_detach(t, node);
    free(node->name);
    node->name = copy;
    attach(t, node, dir);
    return 0;
}

int tree_path(const struct tree_node *node, unsigned *ret_grant, char path[PATH_MAX])
{
    char *at = path + PATH_MAX - 1;

    *at = '\0';
    for (; node->parent; node = node->parent) {
        size_t len = strlen(node->name);

        if (!node->is_attached || (size_t)(at - path) < len + 1)
            return -1;
        if (*at)
            *--at = '/';
        at -= len;
        memcpy(at, node->name, len);
    }
    if (!node->is_attached)
        return -1;
    *ret_grant = node->grant;
    memmove(path, at, strlen(at) + 1);
    return 0;
}
