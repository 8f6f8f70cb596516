#include "sandbox/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mount.h>

#include "base/cleanup.h"
#include "sandbox/mount.h"
#include "sandbox/root.h"

void terminal_path(unsigned number, char path[static TERMINAL_PATH_SIZE])
{
    (void)snprintf(path, TERMINAL_PATH_SIZE, TERMINAL_PLACE "/%u", number);
}

/* The ptmx may be opened by anybody who reaches it: only the supervisor does, by the descriptor. A
 * device on a mount without devices cannot be opened. */
int terminal_mount(unsigned max, int *ret_ptmx, struct error *err)
{
    static const char ptmx[] = TERMINAL_PLACE "/ptmx", nothing[] = "/dev/null";
    cleanup_close int fd = -1;
    char options[128];

    (void)snprintf(options, sizeof(options),
                   "newinstance,uid=%d,gid=%d,mode=0600,ptmxmode=0666,max=%u", ROOT_UID, ROOT_UID,
                   max);
    if (mount("devpts", TERMINAL_PLACE, "devpts", MS_NOSUID | MS_NOEXEC, options) < 0) {
        fd = open(nothing, O_PATH | O_CLOEXEC);
        if (fd < 0)
            return error_errno(err, "open %s", nothing);
        *ret_ptmx = take_fd(fd);
        return 0;
    }
    fd = open(ptmx, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return error_errno(err, "open %s", ptmx);
    if (mount_bind(nothing, ptmx, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_NODEV, err) <
        0)
        return -1;
    *ret_ptmx = take_fd(fd);
    return 0;
}

int terminal_open(int ptmx, int *ret_master, unsigned *ret_number, struct error *err)
{
    cleanup_close int master = -1;
    int lock = 0;
    char path[32];

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", ptmx);
    if (ptmx >= 0)
        master = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (ptmx >= 0 && master < 0 && (errno == ENOSPC || errno == EIO)) {
        error_set(err, E_BUSY, "the sandbox has the highest number of terminals");
        return error_hint(err, "end a command with a terminal, and the processes it left");
    }
    if (master < 0 || ioctl(master, TIOCSPTLCK, &lock) < 0 ||
        ioctl(master, TIOCGPTN, ret_number) < 0) {
        error_set(err, E_UNSUPPORTED, "this host does not allow a terminal in a sandbox");
        return error_hint(err, "run the command without one");
    }
    *ret_master = take_fd(master);
    return 0;
}
