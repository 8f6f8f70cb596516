# id: kernel-unshare-each
# category: kernel
# profile: open
# threat: makes nested namespaces, the door to most kernel bugs, one flag at a time and together
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
import os
flags = {'user': 0x10000000, 'mnt': 0x20000, 'pid': 0x20000000, 'net': 0x40000000, 'ipc': 0x8000000, 'uts': 0x4000000,
         'cgroup': 0x2000000, 'time': 0x80}
for name, flag in list(flags.items()) + [('all', sum(flags.values()))]:
    judge(f'unshare {name}', *call(272, flag))
judge('unshare user+mnt', *call(272, 0x10020000))
