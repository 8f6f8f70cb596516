/* System call filters. The programs are generated at build time from one table with a reason for
 * each entry (tools/gen-seccomp.c, with libseccomp), so that loading one costs a single call.
 */
#pragma once

#include <stddef.h>

#include "base/error.h"

struct sock_filter;

enum seccomp_filter {
    SECCOMP_BASE,     /* the allow-list every sandbox gets */
    SECCOMP_NO_DUMP,  /* on top, in every kernel: it stays not dumpable */
    SECCOMP_NO_EXEC,  /* on top: no execve, no new processes; threads are fine (profile `strict`) */
    SECCOMP_NO_MEMFD, /* on top, where no cgroup counts memory: no memory that belongs to no process
                       */
    SECCOMP_NO_DROP,  /* in the zygote and everything after it: no generator of random numbers in
                         memory, which copies would share */
    SECCOMP_NO_UNIX,  /* on top, where directories of the host were granted: no socket that could be
                         in one */
    SECCOMP_PROCESS,  /* on top, where there are no namespaces: what they keep apart otherwise */
    SECCOMP_BROKER,   /* on top, where a directory was granted for writing: see seccomp_listen() */
    SECCOMP_REPORT,   /* SECCOMP_BASE with a listener that reports refusals: seccomp_listen() */
    SECCOMP_HOLD,     /* on top, for the holder of a kernel's memory: nothing but waiting */
    SECCOMP_LISTENER, /* for belljar-listener: the descriptors it has, and memory */
};

/* Needs no_new_privs. Filters add up: the strictest answer wins. */
int seccomp_load(enum seccomp_filter filter, struct error *err);

/* Loads a filter that hands calls to another process: *ret_fd is where that one gets them and
 * answers. Before the others, which forbid it. The process must have no other thread.
 * E_UNSUPPORTED: Linux is too old (Linux 5.9, for descriptors in answers). Needs no_new_privs,
 * too. */
int seccomp_listen(enum seccomp_filter filter, int *ret_fd, struct error *err);

/* Length of the program in instructions, for doctor. */
size_t seccomp_length(enum seccomp_filter filter);
