/* The file system a sandbox sees, built from nothing.
 *
 * root_build() runs once in the zygote: a small tmpfs with read-only binds of the system and of the
 * environment, a made-up /etc, five device nodes, and the zygote itself moves in. Every sandbox
 * starts with a copy of that tree and only adds what is its own: root_enter(). What is not named
 * here does not exist inside.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "wire/message.h"

/* Host ids do not exist inside; this is who the program is. */
#define ROOT_UID 1000

/* The path of the steady library inside. */
#define ROOT_STEADY "/etc/belljar-steady.so"

/* A file of ours that every sandbox has, below ROOT_LIBRARY. Its path has a directory at most. */
struct root_file {
    const char *path; /* NULL: the end of a table */
    const unsigned char *data;
    size_t len;
};

/* Modules for every Python that a program starts; library/sitecustomize.py names the place, too. */
#define ROOT_LIBRARY "/etc/belljar-library"

/* The Python that the zygote is. */
struct root_python {
    const char *version;     /* "3.13": our start-up file is in place of the administrator's */
    const char *interpreter; /* path in the environment, a link to that Python or another */
};

/* `binds`: further trees shown read-only at their own place. `files`: or NULL. `steady_fd`: that
 * library, or -1. Must be called in a mount namespace of our own, as its root. */
int root_build(const struct wire_strings *binds, const struct root_file *files,
               const struct root_python *python, int steady_fd, struct error *err);

/* In the sandbox's own namespaces, before privileges are dropped: private /proc, /workspace, /tmp,
 * /dev/shm, and the granted directories (`grant_fds`: one detached mount each, in order, in whose
 * place overlays come for copy-on-write ones). `overlay_fds`: as WIRE_SEALED has them behind the
 * workspace. */
int root_enter(const struct wire_spawn *spec, int *grant_fds, int *overlay_fds, struct error *err);
