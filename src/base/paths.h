/* Paths of our own files: beside the program in a checkout, below its own prefix where it was moved
 * together with them, else where they were installed. The place of the program decides; the current
 * directory and the environment do not. Also tells whether one path lies below another. */
#pragma once

#include <string.h>

#include "base/error.h"

/* The part of `path` behind the directory `dir`, without a slash in front: "" for the directory
 * itself, NULL for a path that is neither the directory nor below it. Both are absolute and
 * resolved: names are compared, and nothing is looked up. `dir` may end with a slash. */
static inline const char *paths_below(const char *path, const char *dir)
{
    size_t len = strlen(dir);

    while (len && dir[len - 1] == '/')
        len--;
    if (strncmp(path, dir, len) != 0 || (path[len] != '/' && path[len] != '\0'))
        return NULL;
    return path + len + strspn(path + len, "/");
}

/* INSIDE below the prefix of the running program: below "/opt/x" for "/opt/x/bin/belljar", whether
 * or not it is there. Returns 1, and the caller frees the path; or 0 for a program that is not in a
 * directory `bin`: what stands beside the directory of a copy in /tmp, say, is not ours. */
int paths_in_prefix(const char *inside, char **ret_path, struct error *err);

/* Path of one of our helper programs, as "belljar-zygote". Fails if the one below the program's own
 * prefix could be a stranger's. The caller frees it. */
char *paths_program(const char *name, struct error *err);

/* A directory of read-only data: "policies", "escape" or "skills". The caller frees it. */
char *paths_data(const char *name, struct error *err);

/* NAME in the user's own directory for what lasts ($XDG_STATE_HOME/belljar), which is made,
 * private, if it is not there. The caller frees it. */
char *paths_state(const char *name, struct error *err);

/* The path of NAME, for data that is large, can be made again and holds no secret: in
 * $XDG_DATA_HOME/belljar, or for root in /var/lib/belljar, because root's sandboxes run as other
 * users and do not see root's home. Creates nothing. The caller frees it. */
char *paths_made(const char *name, struct error *err);

/* A directory for data that is lost at a restart: $XDG_RUNTIME_DIR/belljar, /run/belljar for root,
 * or else the data directory. */
char *paths_runtime(const char *name, struct error *err);
