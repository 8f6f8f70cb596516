/* Cleanup attributes for locals that own something, and the two functions that hand ownership over.
 *
 *     cleanup_free char *path = NULL;
 *     cleanup_close int fd = -1;
 *     ...
 *     *ret_path = take_ptr(path);
 *
 * A variable with an attribute is initialised on its first line, always.
 */
#pragma once

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static inline void cleanup_free_p(void *p)
{
    free(*(void **)p);
}

static inline void cleanup_close_p(const int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
}

static inline void cleanup_fclose_p(FILE **file)
{
    if (*file)
        (void)fclose(*file);
}

static inline void cleanup_closedir_p(DIR **dir)
{
    if (*dir)
        (void)closedir(*dir);
}

#define cleanup(function) __attribute__((cleanup(function)))
#define cleanup_free      cleanup(cleanup_free_p)
#define cleanup_close     cleanup(cleanup_close_p)
#define cleanup_fclose    cleanup(cleanup_fclose_p)
#define cleanup_closedir  cleanup(cleanup_closedir_p)
#define cleanup_error     cleanup(error_done)

#define take_ptr(p)                                                                                \
    ({                                                                                             \
        __typeof__(p) taken_ = (p);                                                                \
        (p) = NULL;                                                                                \
        taken_;                                                                                    \
    })

static inline int take_fd_p(int *fd)
{
    int taken = *fd;

    *fd = -1;
    return taken;
}

#define take_fd(fd) take_fd_p(&(fd))

/* Closes and forgets. Accepts -1. */
static inline void close_fd(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}
