# id: kernel-system-state
# category: kernel
# profile: open
# threat: changes clocks, names, swap, accounting, quotas and the power of the whole machine
# expect: success error
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def call(nr, *args):
    values = [ctypes.c_long(a) if isinstance(a, int) else (ctypes.c_char * len(a)).from_buffer(a) if isinstance(a, bytearray) else a for a in args]
    ctypes.set_errno(0)
    return libc.syscall(ctypes.c_long(nr), *values), ctypes.get_errno()
def judge(name, r, e):
    print(name, r, e)
    if r >= 0:
        print('ESC' + 'APED:', name)
    elif e not in (1, 38):  # neither EPERM nor ENOSYS: the kernel answered, not the filter
        print('UNFIL' + 'TERED:', name, e)
for name, nr, args in (('acct', 163, (1,)), ('swapon', 167, (b'/x', 0)), ('swapoff', 168, (b'/x',)), ('reboot', 169, (0, 0, 0, None)),
                       ('quotactl', 179, (0x80000101, 1, 0, 1)), ('quotactl_fd', 443, (-1, 0, 0, None)), ('syslog', 103, (10, None, 0)),
                       ('syslog read', 103, (3, bytearray(64), 64)), ('settimeofday', 164, (1, None)), ('clock_settime', 227, (0, 1)),
                       ('sethostname', 170, (b'pwned', 5)), ('setdomainname', 171, (b'pwned', 5)), ('iopl', 172, (3,)),
                       ('ioperm', 173, (0, 1, 1)), ('vhangup', 153, ()), ('fanotify_init', 300, (0x200, 0))):
    judge(name, *call(nr, *args))
