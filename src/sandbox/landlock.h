/* Landlock, the second opinion on files: the same allow-list as the mounts, enforced by another
 * part of Linux.
 *
 * Needs Linux 5.13; TCP rules need ABI 4, scopes for abstract sockets and signals ABI 6. Every
 * access right Linux knows is handled, so that what is not listed is refused.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum landlock_access {
    LANDLOCK_READ,       /* read and list */
    LANDLOCK_READ_EXEC,  /* and execute */
    LANDLOCK_WRITE,      /* everything but execute, making device nodes and device ioctls */
    LANDLOCK_WRITE_EXEC, /* and execute */
    LANDLOCK_DEVICE,     /* read and write a device node */
    LANDLOCK_TERMINAL,   /* and its ioctls, of which seccomp allows a few */
};

struct landlock_path {
    const char *path; /* one that does not exist is passed over */
    enum landlock_access access;
};

/* 0: Linux has no Landlock. */
int landlock_abi(void);

/* The least ABI of landlock_isolate(): scopes for signals and abstract sockets, Linux 6.12. */
#define LANDLOCK_ISOLATES 6

/* Confines the calling thread and its children to the paths; no TCP rule is made (the network
 * namespace is empty and loopback inside it is the program's own), scopes are set where the ABI has
 * them. Needs no_new_privs. */
int landlock_restrict(const struct landlock_path *paths, size_t count, struct error *err);

/* Like landlock_restrict(), but for a process without namespaces around it: every TCP port is
 * refused, and a kernel without scopes is E_UNSUPPORTED. */
int landlock_isolate(const struct landlock_path *paths, size_t count, struct error *err);

/* Signals and abstract sockets of the caller reach its own domain only; files are as before.
 * E_UNSUPPORTED as above. */
int landlock_scope(struct error *err);
