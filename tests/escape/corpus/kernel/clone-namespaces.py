# id: kernel-clone-namespaces
# category: kernel
# profile: open
# threat: makes a namespace with clone instead of unshare
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
for name, flag in (('user', 0x10000000), ('mnt', 0x20000), ('pid', 0x20000000), ('net', 0x40000000), ('ipc', 0x8000000),
                   ('uts', 0x4000000), ('cgroup', 0x2000000), ('user+net', 0x50000000), ('high bits', 0x10000000 | 1 << 40)):
    r, e = call(56, flag | 17, 0, 0, 0, 0)
    if r == 0:
        os._exit(0)
    judge(f'clone {name}', r, e)
