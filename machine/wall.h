/* What stands around QEMU: namespaces of its own without a network, and a root with /usr, the
 * shares and nothing else, all of it read-only or in memory. Nothing of it is in any directory of
 * the host, and all of it ends with the first process of the namespaces.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"
#include "machine/grants.h"
#include "sandbox/ns.h"

#define WALL_SHARES_MAX 8

/* Inside, from the root on. */
#define WALL_KERNEL "/kernel"
#define WALL_IMAGE  "/initramfs"

/* A directory of the host that the machine sees, read-only, under the same path. */
struct wall_share {
    char tag[16];
    const char *path;
};

struct wall_options {
    const char *kernel; /* a file of the host */
    const struct buf *image;
    const struct wall_share *shares;
    size_t n_shares;
    struct grants *grants;
    bool has_kvm;
};

/* In the process that starts it: as another user, if it is root (`ids`, or else one that it
 * chooses), and in a new user namespace. The next process that it forks is the first of a process
 * namespace. */
int wall_unshare(const struct ns_ids *ids, struct error *err);

/* In that process: builds the root and enters it. It has every privilege in there still. */
int wall_enter(const struct wall_options *options, struct error *err);

/* Of a share, inside. */
void wall_share_path(const struct wall_share *share, char path[64]);
