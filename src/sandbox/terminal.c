#include "sandbox/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mount.h>

#include "base/cleanup.h"

int terminal_make(int *ret_master, struct error *err)
{
    cleanup_close int master = -1;
    int lock = 0, number = -1;

    if (mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
              "newinstance,mode=0600,ptmxmode=0000,max=1") < 0) {
        error_errno(err, "mount /dev/pts");
        err->code = E_UNSUPPORTED;
        return error_hint(err, "this host does not allow a terminal in a sandbox: leave out -t");
    }
    master = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (master < 0 || ioctl(master, TIOCSPTLCK, &lock) < 0 || ioctl(master, TIOCGPTN, &number) < 0)
        return error_errno(err, "make a terminal");
    if (number != 0) /* TERMINAL_SLAVE is another one */
        return error_set(err, E_UNSUPPORTED, "the terminal has the number %d", number);
    *ret_master = take_fd(master);
    return 0;
}
