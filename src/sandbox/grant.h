/* Granted directories: opened once, then only ever spoken of by descriptor.
 *
 * grant_open() resolves what the operator typed. grant_mount() makes of it a detached mount that a
 * sandbox can attach; for root the mount is idmapped, so that what the sandbox writes belongs to
 * the directory's owner and what it reads is read with that owner's rights. For an ordinary user a
 * short-lived helper in namespaces of its own does the same without the mapping.
 */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "base/run.h"

/* The resolved path of a directory, or NULL: it is not there, or there is a symbolic link in its
 * path other than one in `/`. A program with an earlier grant may have made such a link. */
char *grant_real_path(const char *path);

/* Fills *ret_grant. A missing directory, a file, or one of the places that are never granted is an
 * error with a hint. */
int grant_open(const char *path, enum run_grant_mode mode, struct run_grant *ret_grant,
               struct error *err);
void grant_done(struct run_grant *grant);

/* One detached mount per grant into `mounts`, for a sandbox whose ids on the host are these; all of
 * them are read-only. For each grant for writing there is a second one in `writable`, for the
 * broker (broker/broker.h); -1 for the others. */
int grant_mount(const struct run_grant *grants, size_t count, uint32_t host_uid, uint32_t host_gid,
                int *mounts, int *writable, struct error *err);
