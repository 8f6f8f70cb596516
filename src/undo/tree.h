/* Names that a journal speaks of, as a tree: where something is after renames.
 *
 * A node is one name in one directory. Moving a node moves everything below it, in constant time,
 * however many names there are. Nodes are never freed before the tree.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tree;

struct tree_node {
    struct tree_node *parent;       /* NULL: a grant's root, or detached */
    struct tree_node *first, *next; /* children; the next sibling */
    struct tree_node *previous, *chain;
    struct tree_node *made_before; /* all nodes, for the caller's loop and the end */
    bool is_attached;
    unsigned grant; /* of a root */
    int state;      /* the caller's, as what follows */
    uint64_t dev, ino;
    const void *data;
    char *name;
};

struct tree *tree_new(void);
void tree_free(struct tree *tree); /* accepts NULL */

/* The root of a grant. NULL: out of memory. */
struct tree_node *tree_root(struct tree *tree, unsigned grant);

/* The child of that name; NULL: none. `len`: of the name. */
struct tree_node *tree_child(const struct tree *tree, const struct tree_node *dir, const char *name,
                             size_t len);

/* The node of a path, made with all nodes above it where it is missing. NULL: out of memory. */
struct tree_node *tree_make(struct tree *tree, unsigned grant, const char *path);
struct tree_node *tree_find(struct tree *tree, unsigned grant, const char *path);

/* Takes a node out of its directory. What is below it stays below it. Not a root. */
void tree_detach(struct tree *tree, struct tree_node *node);

/* Gives the node, attached or not, a new place. A node that was there is detached. -1: out of
 * memory, or the place is below the node itself. */
int tree_move(struct tree *tree, struct tree_node *node, unsigned grant, const char *path);

/* The node's path below its grant; -1: longer than a path can be, or detached. */
int tree_path(const struct tree_node *node, unsigned *ret_grant, char path[PATH_MAX]);

/* All nodes, the latest first: for (n = tree_last(t); n; n = n->made_before) */
struct tree_node *tree_last(const struct tree *tree);
