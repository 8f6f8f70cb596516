/* The granted directories as the steps of an undo see them, one after the other.
 *
 * In earnest this is the disk. For a rehearsal it is the disk with the steps so far laid over it:
 * later steps are judged as if the earlier ones had been made, and nothing is touched. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"
#include "sandbox/files.h"
#include "undo/tree.h"

struct view {
    struct files *dirs; /* a granted directory each; fd -1: not to be had */
    size_t count;
    struct tree *overlay; /* NULL: in earnest */
    uint64_t invented;    /* inodes of things that are not there yet */
};

int view_init(struct view *view, struct files *dirs, size_t count, bool is_rehearsal,
              struct error *err);
void view_done(struct view *view);

/* 1: something is there, 0: nothing, or its directory is not there, -1: it cannot be looked at. */
int view_look(struct view *view, unsigned grant, const char *path, struct stat *ret_st);

/* 1: the directory is there, 0: not, or it is something else. */
int view_has_parent(struct view *view, unsigned grant, const char *path);

/* 1: a directory without anything in it. */
int view_is_empty(struct view *view, unsigned grant, const char *path);

/* An O_PATH descriptor of what is there, as the owner of the directory. -1 with errno; ENOENT also
 * for something that is there in a rehearsal only. */
int view_open(struct view *view, unsigned grant, const char *path);

/* --- for a rehearsal: what a step would do --- */

int view_put(struct view *view, unsigned grant, const char *path, struct stat *st);
int view_take(struct view *view, unsigned grant, const char *path);
int view_move(struct view *view, unsigned grant, const char *from, const char *to);
int view_link(struct view *view, unsigned grant, const char *from, const char *to);
int view_swap(struct view *view, unsigned grant, const char *one, const char *other);
