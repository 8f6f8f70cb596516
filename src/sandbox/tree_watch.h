/* Watches a directory in the /workspace or /tmp of a sandbox (inotify), all the way down if asked.
 *
 * Everything that happens there is the program's doing, and it can do much: directories without
 * number, names that are no text, renames back and forth. So the watch looks at a few events at a
 * time, follows at most TREE_WATCH_DIRECTORIES directories, and rests after each large piece; Linux
 * drops what does not fit into its queue meanwhile, which is told as TREE_LOST. A directory that is
 * new is watched from the moment it was seen; what was in it by then is told as created, and may be
 * told twice.
 */
#pragma once

#include "base/loop.h"
#include "sandbox/files.h"

#define TREE_WATCH_DIRECTORIES 1024

enum tree_event_kind {
    TREE_CREATED, /* also what was moved here */
    TREE_WRITTEN,
    TREE_REMOVED,
    TREE_RENAMED, /* or moved away: `path` is the old one. TREE_CREATED follows for the new one */
    TREE_CHANGED, /* mode, owner or times */
    TREE_LOST,    /* there was more than could be told; without a path */
};

/* "create", "write", "remove", "rename", "chmod", "lost". */
const char *tree_event_name(enum tree_event_kind kind);

struct tree_event {
    enum tree_event_kind kind;
    const char *path; /* from the watched directory on, in bytes; lent */
    bool is_directory;
};

struct tree_watch_options {
    struct loop *loop;
    const struct files *files; /* copied */
    const char *path;          /* of the directory (files_path_check) */
    bool is_recursive;
    void (*on_ready)(void *user); /* what happens from here on is told; once */
    void (*on_event)(void *user, const struct tree_event *event);
    void (*on_gone)(void *user); /* the directory was removed or moved: nothing more comes */
    void *user;
};

struct tree_watch;

/* Callbacks come from the loop; they may free the watch. E_NOT_FOUND, E_INVALID: there is no such
 * directory. E_BUSY: Linux has no more watches for us. */
int tree_watch_new(const struct tree_watch_options *options, struct tree_watch **ret_watch,
                   struct error *err);
void tree_watch_free(struct tree_watch *watch); /* accepts NULL */

/* Nothing is told for now: whoever is told is behind. */
void tree_watch_hold(struct tree_watch *watch, bool is_held);
