/* The calls that the broker performs: one handler for each, and what they share.
 *
 * A handler has the same shape everywhere: find the place, judge it, have the journal save what
 * will be lost, act on directory and name with no link followed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "broker/internal.h"

/* Set-id bits never reach a directory of the host; the sandbox's filter refuses them, too. */
#define FILE_MODE 0777
#define DIR_MODE  01777

/* Mode bits that the owner of a directory must keep. */
#define DIR_OWNER_MODE 0500
#define DIR_OWNER_WHY                                                                              \
    "a directory stays readable for its owner (u+rx): otherwise it could not be granted again"

/* The call that is being answered. */
struct held_call {
    struct broker *b;
    pid_t pid;
    const uint64_t *args;
    int fd; /* for the caller, or -1 */
    uint32_t fd_flags;
    struct git_copy *copy; /* of a file that git believes */
};

static inline int dirfd_of(uint64_t arg)
{
    return (int)(uint32_t)arg;
}

/* --- keep.c --- */

/* 0: the place is found, and what happens there can be kept. */
long call_find(struct held_call *c, int dirfd, uint64_t path, bool follows, struct place *p);

/* Resolves an existing file, by path or by descriptor: see resolve_object(). */
long call_find_object(struct held_call *c, int dirfd, uint64_t path, int flags, struct place *p);

/* New files get the mode that the caller's umask leaves. It is asked for once, and again only after
 * some process of the sandbox has called umask(2). */
void call_adopt_umask(struct held_call *c);

/* Before the change. 0, -errno (the change must not be made) or ANSWER_LATER. */
long keep_content(struct broker *b, const struct place *p);
long keep_attributes(struct broker *b, const struct place *p);
long keep_name(struct broker *b, const struct place *p);
long keep_announce(struct broker *b, const struct place *p);

/* With the first change of a run, so that most runs have none. */
int keep_open_journal(struct broker *b, struct error *err);

/* The journal could not take what would be lost. Returns -errno. */
long keep_refused(struct broker *b, const struct place *place, const struct error *err);

/* The change that was announced did not happen. Returns `r`. */
long keep_undone(struct broker *b, long r);

/* It did, and this is there now; a hard link to `from`, unless that is NULL. -errno: it could not
 * be written down, and is taken back. */
long keep_created(struct broker *b, struct place *p, const struct place *from);

/* --- git_data.c: files that git believes --- */

/* Such a file is never the program's own, which it may have open: what is at `from` is checked, and
 * a copy of it gets the name `to`.
 *
 * Checking may take seconds, and the directories are not locked meanwhile. So such a call is
 * performed twice. The first time it is judged, what is to be checked is noted here, and the answer
 * is ANSWER_CHECK. After git_copy_make() it is performed again, from the beginning: the paths are
 * resolved and judged again. If they now mean other files than those that were looked at, or one of
 * them has changed, that begins once more. */
struct git_copy {
    int from;            /* the program's file, open for reading; -1: nothing is noted */
    int dir;             /* the directory that gets the copy */
    struct stat from_st; /* as they were when it was noted */
    struct stat dir_st;
    struct stat to_st; /* what is replaced; st_nlink 0: nothing */
    enum protected_data kind;
    struct place to;    /* for the report; its directory is `dir` */
    int fd;             /* the copy, without a name; -1: there is none */
    struct buf content; /* where the file system has no files without a name */
    bool is_made;       /* it was checked, and may be used */
};

#define ANSWER_CHECK (LONG_MIN + 2)

/* Without the lock. 0, or -errno: refused. */
long git_copy_make(struct broker *b, struct git_copy *copy);
void git_copy_done(struct git_copy *copy);

long git_link(struct held_call *c, struct place *from, struct place *to, enum protected_data data);
long git_rename(struct held_call *c, struct place *from, struct place *to,
                enum protected_data data);

/* --- the handlers --- */

/* The mode of what was found and judged. */
long call_set_mode(struct held_call *c, struct place *p, mode_t mode);

long call_open_at(struct held_call *c, int dirfd, uint64_t path, uint64_t flags, uint64_t mode);

long call_open(struct held_call *c);
long call_openat(struct held_call *c);
long call_creat(struct held_call *c);
long call_truncate(struct held_call *c);

long call_mkdir(struct held_call *c);
long call_mkdirat(struct held_call *c);
long call_mknod(struct held_call *c);
long call_mknodat(struct held_call *c);
long call_symlink(struct held_call *c);
long call_symlinkat(struct held_call *c);
long call_link(struct held_call *c);
long call_linkat(struct held_call *c);
long call_unlink(struct held_call *c);
long call_rmdir(struct held_call *c);
long call_unlinkat(struct held_call *c);
long call_rename(struct held_call *c);
long call_renameat(struct held_call *c);
long call_renameat2(struct held_call *c);

long call_chmod(struct held_call *c);
long call_fchmod(struct held_call *c);
long call_fchmodat(struct held_call *c);
long call_fchmodat2(struct held_call *c);
long call_chown(struct held_call *c);
long call_lchown(struct held_call *c);
long call_fchown(struct held_call *c);
long call_fchownat(struct held_call *c);
long call_utime(struct held_call *c);
long call_utimes(struct held_call *c);
long call_futimesat(struct held_call *c);
long call_utimensat(struct held_call *c);
long call_umask(struct held_call *c);

long call_setxattr(struct held_call *c);
long call_lsetxattr(struct held_call *c);
long call_fsetxattr(struct held_call *c);
long call_removexattr(struct held_call *c);
long call_lremovexattr(struct held_call *c);
long call_fremovexattr(struct held_call *c);

long call_access(struct held_call *c);
long call_faccessat(struct held_call *c);
long call_faccessat2(struct held_call *c);
