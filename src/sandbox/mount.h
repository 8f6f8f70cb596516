/* Mounts, one call each, by descriptor where a stranger could name a path. Needs Linux 5.12
 * (mount_setattr). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Shows the tree at `source` also at `target`, with all that is mounted below it; `attrs`
 * (MOUNT_ATTR_*) are set on every mount of it, none is ever cleared. */
int mount_bind(const char *source, const char *target, uint64_t attrs, struct error *err);

/* Like mount_bind(), but from a detached mount, which stays open. */
int mount_attach(int mount_fd, const char *target, struct error *err);

/* A detached copy of the directory or file behind `fd` (or of `path` below it). */
int mount_clone(int dirfd, const char *path, uint64_t attrs, bool recursive, int *ret_fd,
                struct error *err);

int mount_set_attrs(int dirfd, const char *path, uint64_t attrs, bool recursive, struct error *err);

/* mkdir -p of `path` in the present root. Existing directories are fine. */
int mount_make_dirs(const char *path, struct error *err);

/* An empty file or directory to mount on, like `model`. */
int mount_make_point(const char *path, bool is_directory, struct error *err);

/* Makes `path` (a mount) the root and lets go of the old one. The working directory is the new root
 * afterwards; checked. */
int mount_pivot(const char *path, struct error *err);
