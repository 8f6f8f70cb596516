/* One handler for each call that changes something by a path. All have the same shape: find the
 * place, judge it, write down what will be lost, act on directory and name with no link followed.
 */
#include "broker/calls.h"

#include <errno.h>
#include <sys/syscall.h>

#include "base/cleanup.h"

/* A call is judged again this often because files changed while one was checked. */
#define CHECKS_MAX 4

/* clang-format off */
static const struct {
    int number;
    long (*perform)(struct held_call *c);
} calls[] = {
#ifdef SYS_open /* architectures older than the calls with a directory descriptor */
    {SYS_open,         call_open        },
    {SYS_creat,        call_creat       },
    {SYS_mkdir,        call_mkdir       },
    {SYS_rmdir,        call_rmdir       },
    {SYS_mknod,        call_mknod       },
    {SYS_unlink,       call_unlink      },
    {SYS_rename,       call_rename      },
    {SYS_link,         call_link        },
    {SYS_symlink,      call_symlink     },
    {SYS_chmod,        call_chmod       },
    {SYS_chown,        call_chown       },
    {SYS_lchown,       call_lchown      },
    {SYS_utime,        call_utime       },
    {SYS_utimes,       call_utimes      },
    {SYS_futimesat,    call_futimesat   },
    {SYS_renameat,     call_renameat    },
    {SYS_access,       call_access      },
#endif
    {SYS_openat,       call_openat      },
    {SYS_truncate,     call_truncate    },
    {SYS_mkdirat,      call_mkdirat     },
    {SYS_mknodat,      call_mknodat     },
    {SYS_unlinkat,     call_unlinkat    },
    {SYS_renameat2,    call_renameat2   },
    {SYS_linkat,       call_linkat      },
    {SYS_symlinkat,    call_symlinkat   },
    {SYS_fchmodat,     call_fchmodat    },
    {452,              call_fchmodat2   },
    {SYS_fchmod,       call_fchmod      },
    {SYS_fchownat,     call_fchownat    },
    {SYS_fchown,       call_fchown      },
    {SYS_utimensat,    call_utimensat   },
    {SYS_faccessat,    call_faccessat   },
    {439,              call_faccessat2  },
    {SYS_setxattr,     call_setxattr    },
    {SYS_lsetxattr,    call_lsetxattr   },
    {SYS_fsetxattr,    call_fsetxattr   },
    {SYS_removexattr,  call_removexattr },
    {SYS_lremovexattr, call_lremovexattr},
    {SYS_fremovexattr, call_fremovexattr},
    {SYS_umask,        call_umask       },
};
/* clang-format on */

/* Nobody else changes what a place is between the judgement and the act: sandbox/tree_lock.h. */
static long perform_locked(struct held_call *c, long (*perform)(struct held_call *c))
{
    long r;

    if (tree_lock_take(&c->b->lock) < 0)
        return -EIO;
    r = perform(c);
    tree_lock_release(&c->b->lock);
    return r;
}

static long perform_checked(struct held_call *c, long (*perform)(struct held_call *c))
{
    struct git_copy copy = {.from = -1, .dir = -1, .fd = -1};
    long r;

    c->copy = &copy;
    r = perform_locked(c, perform);
    for (int i = 0; r == ANSWER_CHECK && i < CHECKS_MAX; i++) {
        r = git_copy_make(c->b, &copy);
        if (r == 0)
            r = target_waits(c->b) ? perform_locked(c, perform) : -EINTR;
    }
    git_copy_done(&copy);
    c->copy = NULL;
    return r == ANSWER_CHECK ? -EBUSY : r;
}

long call_perform(struct broker *b, const struct seccomp_notif *notif, int *ret_fd,
                  uint32_t *ret_fd_flags)
{
    uint64_t args[6];
    struct held_call c = {.b = b, .pid = (pid_t)notif->pid, .args = args, .fd = -1};
    long r = ANSWER_CONTINUE;

    if (b->looks_left)
        resolve_grants(b);
    for (size_t i = 0; i < ARRAY_SIZE(args); i++)
        args[i] = notif->data.args[i];
    for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
        if (calls[i].number == notif->data.nr) {
            r = perform_checked(&c, calls[i].perform);
            break;
        }
    *ret_fd = c.fd;
    *ret_fd_flags = c.fd_flags;
    return r;
}
