/* The recipe: how a freshly cloned process becomes pid 1 of a sealed sandbox. A table of named
 * steps in the order in which they have to happen; the name of the step that failed is the context
 * of the error.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "wire/message.h"

struct recipe {
    const struct wire_spawn *spec;
    int sync_fd;                       /* a byte arrives when the id maps are written */
    int attach_fds[WIRE_ATTACH_MAX];   /* cgroup files to write "0" into */
    int grant_fds[WIRE_GRANTS_MAX];    /* detached mounts */
    int overlay_fds[2 * WIRE_COW_MAX]; /* out: of copy-on-write grants, as WIRE_SEALED has them */
    int listener_fd;       /* out: of calls for the write broker, or, where there is none,
                            * of refused calls; -1: nobody is told */
    int ptmx_fd;           /* out: where its terminals come from; -1: it has none */
    uint64_t namespaces;   /* CLONE_NEW* flags of all it is in, but the cgroup's */
    const char *directory; /* at the level `process`: the sandbox's own, and empty */
    uint64_t prepared;     /* those among them that recipe_prepare() made */
    uint32_t layers;       /* out: what stands */
};

/* All namespaces a sandbox is cloned into. The cgroup namespace is made later, from inside its
 * cgroup. */
uint64_t recipe_namespaces(void);

/* Makes those that cost most and depend on nothing ahead of time, around the caller, who is about
 * to clone and has nothing in them: network (with a loopback that is up), IPC and UTS. The next
 * clone inherits them, and nobody else may; the caller leaves them by calling this again. What they
 * belong to is the caller's user namespace, so that not even a sandbox's pid 1 has a right in them.
 * Returns their flags, or 0: then the clone has to make them. */
uint64_t recipe_prepare(void);

/* A directory is granted for writing: the listener is the write broker's. */
bool recipe_has_broker(const struct recipe *r);

/* Runs every step or fails; a failed child must exit, it is neither here nor there. */
int recipe_seal(struct recipe *r, struct error *err);

/* --- the level `process`, without namespaces (recipe_process.c) --- */

/* A tree of the host that every sandbox may read; in the zygote. */
int recipe_process_show(struct span path, struct error *err);

/* In the zygote, before it imports anything: it keeps the domain of all its sandboxes, and writes
 * nowhere but in `directory`. */
int recipe_process_confine_zygote(const char *directory, struct error *err);

/* recipe_seal() of this level. */
int recipe_process_seal(struct recipe *r, struct error *err);
