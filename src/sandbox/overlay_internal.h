/* Shared by overlay.c (the overlays), overlay_walk.c (what has changed) and overlay_apply.c (what
 * becomes of it). */
#pragma once

#include <sys/stat.h>

#include "sandbox/overlay.h"
#include "sandbox/survey.h"

/* A path that we have written ourselves, and when. */
struct overlay_base {
    char *path;
    int64_t ctime_ns;
    uint64_t inode;
};

struct overlay {
    char *path;         /* of the grant */
    struct files disk;  /* the directory, as its owner */
    struct files upper; /* what the program has written */
    struct files seen;  /* both together, as the program sees them */
    int64_t since_ns;
    struct overlay_base *bases; /* by path */
    size_t n_bases, size;
};

struct overlays {
    unsigned refs;
    size_t count;
    char shown[2 * SHA256_BYTES + 1]; /* overlays_shown() */
    struct overlay items[LIMIT_COW_GRANTS];
};

int64_t overlay_ctime_ns(const struct stat *st);
int64_t overlay_mtime_ns(const struct stat *st);

/* Whether the file on the disk has changed since we, or the sandbox, came. */
bool overlay_is_conflict(const struct overlay *overlay, const char *path,
                         const struct overlay_entry *e);

/* Whether something of this kind at `path` may not be written (sandbox/protected.h). */
bool overlay_is_protected(const struct overlay *overlay, const char *path, enum files_kind kind);

/* Whether it is data that git believes (sandbox/git_data.h), and not such as git may be given. `fd`
 * is the new file, or -1; *ret_digest becomes that of what was checked. */
bool overlay_git_refuses(const struct overlay *overlay, const struct survey *survey,
                         const char *path, const struct overlay_entry *e, int fd,
                         uint8_t ret_digest[SHA256_BYTES]);

/* Whether a link at `path` with this target stays in the directory, wherever else in it links lead.
 */
bool overlay_link_stays(const char *path, const char *target);

/* fstatat(2) of a name in a directory that was opened below `files`, as its user; -1 with errno. */
int overlay_look(const struct files *files, int dir, const char *name, struct stat *ret_st);
int overlay_openat(const struct files *files, int dir, const char *path, int flags);
ssize_t overlay_readlink(const struct files *files, int dir, const char *name, char *target,
                         size_t size);
