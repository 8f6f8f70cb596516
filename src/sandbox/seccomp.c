#include "sandbox/seccomp.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sandbox/seccomp_filters.h"

/* clang-format off */
static const struct {
    const struct sock_filter *insns;
    size_t length;
    const char *name;
} filters[] = {
    [SECCOMP_BASE]     = {seccomp_base,     ARRAY_SIZE(seccomp_base),     "every sandbox"          },
    [SECCOMP_NO_DUMP]  = {seccomp_no_dump,  ARRAY_SIZE(seccomp_no_dump),  "not dumpable"           },
    [SECCOMP_NO_EXEC]  = {seccomp_no_exec,  ARRAY_SIZE(seccomp_no_exec),  "no new processes"       },
    [SECCOMP_NO_MEMFD] = {seccomp_no_memfd, ARRAY_SIZE(seccomp_no_memfd), "no memory without owner"},
    [SECCOMP_NO_DROP]  = {seccomp_no_drop,  ARRAY_SIZE(seccomp_no_drop),  "no memory to drop"      },
    [SECCOMP_NO_UNIX]  = {seccomp_no_unix,  ARRAY_SIZE(seccomp_no_unix),  "no Unix sockets"        },
    [SECCOMP_PROCESS]  = {seccomp_process,  ARRAY_SIZE(seccomp_process),  "isolation `process`"    },
    [SECCOMP_BROKER]   = {seccomp_broker,   ARRAY_SIZE(seccomp_broker),   "the write broker"       },
    [SECCOMP_REPORT]   = {seccomp_report,   ARRAY_SIZE(seccomp_report),   "every sandbox"          },
    [SECCOMP_HOLD]     = {seccomp_hold,     ARRAY_SIZE(seccomp_hold),     "nothing but waiting"    },
    [SECCOMP_LISTENER] = {seccomp_listener, ARRAY_SIZE(seccomp_listener), "the listener"           },
};
/* clang-format on */

int seccomp_load(enum seccomp_filter filter, struct error *err)
{
    struct sock_fprog program = {
        .len = (unsigned short)filters[filter].length,
        /* Linux only reads it; its struct is older than const. */
        .filter = (struct sock_filter *)filters[filter].insns,
    };
    long r;

    /* TSYNC: if a library of the warm interpreter ever leaves a thread running, it is filtered too.
     */
    r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
    if (r > 0)
        return error_set(err, E_SYSTEM, "filter system calls (%s): thread %ld cannot take it",
                         filters[filter].name, r);
    if (r < 0)
        return error_errno(err, "filter system calls (%s)", filters[filter].name);
    return 0;
}

/* Linux 5.19: a caller that the broker is working for is woken by a deadly signal only, so that no
 * call is performed twice. */
#define WAIT_KILLABLE_RECV (1UL << 5)

int seccomp_listen(enum seccomp_filter filter, int *ret_fd, struct error *err)
{
    struct sock_fprog program = {
        .len = (unsigned short)filters[filter].length,
        .filter = (struct sock_filter *)filters[filter].insns,
    };
    unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
    long fd;

    if (filter == SECCOMP_BROKER)
        flags |= WAIT_KILLABLE_RECV;
    fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);

    if (fd < 0) {
        (void)error_errno(err, "filter system calls (%s)", filters[filter].name);
        if (errno == EINVAL && err)
            err->code = E_UNSUPPORTED;
        if (filter != SECCOMP_BROKER)
            return -1;
        return error_hint(err, "directories granted for writing need Linux 5.19; grant it `:cow`");
    }
    *ret_fd = (int)fd;
    return 0;
}

size_t seccomp_length(enum seccomp_filter filter)
{
    return filters[filter].length;
}
