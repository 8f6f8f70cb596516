/* access(2) and its relatives, when they ask about writing.
 *
 * Linux says no of everything on the read-only mount, and many programs ask before they write.
 * The answer is what a write would get now. It grants nothing, and is not a refusal to report.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "broker/calls.h"

#define ACCESS_FLAGS (AT_EACCESS | AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)

/* A name that means nothing in ordinary directories, and that git itself makes in its own. */
#define NEW_NAME "index.lock"

/* To write to a directory is to make a name in it. */
static long judge_directory(struct broker *b, const struct place *p)
{
    cleanup(place_done) struct place below = {
        .grant = p->grant,
        .index = p->index,
        .parent = openat(p->parent, p->name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
        .owns_parent = true,
    };
    size_t len = strlen(p->path);

    if (below.parent < 0) {
        below.owns_parent = false;
        return -errno;
    }
    if ((size_t)snprintf(below.path, sizeof(below.path), "%s%s" NEW_NAME, p->path,
                         len ? "/" : "") >= sizeof(below.path))
        return -ENAMETOOLONG;
    below.name = below.path + len + (len ? 1 : 0);
    return judge_quietly(b, &below, JUDGE_CREATE);
}

/* With the rights we write with: the file-system ids. Linux 5.8. */
static long ask_kernel(const struct place *p, int mode)
{
    return syscall(439 /* faccessat2 */, p->parent, p->name, mode,
                   AT_EACCESS | AT_SYMLINK_NOFOLLOW) < 0
               ? -errno
               : 0;
}

static long do_access(struct held_call *c, int dirfd, uint64_t path, uint64_t mode, int flags)
{
    cleanup(place_done) struct place p = {.parent = -1};
    long r;

    if ((mode & ~(uint64_t)(R_OK | W_OK | X_OK)) || (flags & ~ACCESS_FLAGS))
        return -EINVAL;
    if (path == 0)
        return -EFAULT;
    r = resolve_object(c->b, c->pid, dirfd, path, flags & ~AT_EACCESS, &p);
    if (r == 0)
        r = ask_kernel(&p, (int)mode);
    if (r == 0)
        r = S_ISDIR(p.st.st_mode) ? judge_directory(c->b, &p)
                                  : judge_quietly(c->b, &p, JUDGE_CHANGE);
    return r;
}

long call_access(struct held_call *c)
{
    return do_access(c, AT_FDCWD, c->args[0], c->args[1], 0);
}

long call_faccessat(struct held_call *c)
{
    return do_access(c, dirfd_of(c->args[0]), c->args[1], c->args[2], 0);
}

long call_faccessat2(struct held_call *c)
{
    return do_access(c, dirfd_of(c->args[0]), c->args[1], c->args[2], (int)c->args[3]);
}
