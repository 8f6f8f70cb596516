# id: kernel-fcntl-leases
# category: kernel
# profile: open
# threat: a lease or a notification on a file keeps others waiting; commands of fcntl nobody has thought of
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
fd = os.open('/workspace/file', os.O_RDWR | os.O_CREAT)
folder = os.open('/workspace', os.O_RDONLY)
for what in (fd, folder):
    for cmd, name in ((1024, 'F_SETLEASE'), (1025, 'F_GETLEASE'), (1026, 'F_NOTIFY'), (1024 | 1 << 32, 'F_SETLEASE high'), (8, 'F_SETOWN'), (10, 'F_SETSIG'), (15, 'F_SETOWN_EX')):
        for value in (0, 1, 2):
            judge(f'{name} {value}', *call(72, what, cmd, value))
for cmd in [c for c in range(0, 64) if c not in (0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38)] + [c for c in range(1020, 1050) if c not in (1030, 1031, 1032, 1033, 1034)]:
    judge(f'command {cmd}', *call(72, fd, cmd, 0))
