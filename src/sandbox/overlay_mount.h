/* Copy-on-write grants, inside: an overlay of the granted directory, which stays read-only, and an
 * upper directory on the sandbox's own disk, which takes what is written (sandbox/overlay.h reads
 * it from outside). The upper directory is charged to the sandbox like all its files and bounded by
 * its disk.
 */
#pragma once

#include "base/error.h"
#include "wire/message.h"

/* With the sandbox's disk attached at `disk`, and not yet covered: makes of the detached mount of
 * each copy-on-write grant the overlay that is to stand in its place. overlay_fds[2 * n] is the
 * upper directory of the n-th. E_UNSUPPORTED: this kernel does not do it; nothing stands in its
 * stead. */
int overlay_grants(const struct wire_spawn *spec, const char *disk, int *grant_fds,
                   int *overlay_fds, struct error *err);

/* The grant as the program sees it, which is attached at `path`. */
int overlay_open(const char *path, int *ret_fd, struct error *err);
