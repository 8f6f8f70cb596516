#include "sandbox/caps.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Uid 0 means nothing, changing ids moves no capability, nothing is kept or raised; and each of
 * these is locked. */
#define SECUREBITS                                                                                 \
    (SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |                               \
     SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |       \
     SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

/* Linux may know capabilities our headers do not: ask until it says EINVAL. Dropping one that
 * is gone needs CAP_SETPCAP all the same, so a second call of caps_drop_all() sees EPERM where
 * there is nothing left to do. */
static int drop_bounding(struct error *err)
{
    for (unsigned long cap = 0;; cap++) {
        if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
            continue;
        if (errno == EINVAL && cap > CAP_SYS_ADMIN)
            return 0;
        if (errno == EPERM) {
            int present = prctl(PR_CAPBSET_READ, cap, 0, 0, 0);

            if (present == 0)
                continue;
            if (present < 0 && errno == EINVAL && cap > CAP_SYS_ADMIN)
                return 0;
            errno = EPERM;
        }
        return error_errno(err, "drop capability %lu from the bounding set", cap);
    }
}

static int lock_securebits(struct error *err)
{
    int bits = prctl(PR_GET_SECUREBITS, 0, 0, 0, 0);

    if (bits >= 0 && (bits & SECUREBITS) == SECUREBITS)
        return 0;
    if (prctl(PR_SET_SECUREBITS, SECUREBITS, 0, 0, 0) < 0)
        return error_errno(err, "lock the securebits");
    return 0;
}

int caps_drop_all(struct error *err)
{
    int r;

    /* Both need CAP_SETPCAP, so they come before the capabilities go. */
    r = drop_bounding(err);
    if (r < 0)
        return r;
    r = lock_securebits(err);
    if (r < 0)
        return r;
    return caps_clear(err);
}

int caps_clear(struct error *err)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};

    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
        return error_errno(err, "clear the ambient capabilities");
    if (syscall(SYS_capset, &header, none) < 0)
        return error_errno(err, "give up all capabilities");
    return 0;
}

int caps_no_new_privs(struct error *err)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return error_errno(err, "set no_new_privs");
    return 0;
}

int caps_keep_on_exec(struct error *err)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

    if (syscall(SYS_capget, &header, sets) < 0)
        return error_errno(err, "capget");
    for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
        sets[i].inheritable = sets[i].permitted;
    if (syscall(SYS_capset, &header, sets) < 0)
        return error_errno(err, "capset");
    for (unsigned long cap = 0; cap <= CAP_LAST_CAP; cap++)
        if ((sets[cap / 32].permitted >> (cap % 32) & 1) &&
            prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0) < 0)
            return error_errno(err, "keep capability %lu", cap);
    return 0;
}
