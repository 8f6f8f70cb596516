# id: kernel-pidfd
# category: kernel
# profile: open
# threat: takes descriptors and memory from another process by pidfd
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
for pid in (1, os.getppid()):
    fd, e = call(434, pid, 0)
    for n in range(8):
        judge(f'pidfd_getfd {pid} {n}', *call(438, fd, n, 0))
    judge('process_madvise', *call(440, fd, bytes(16), 1, 4, 0))
    judge('process_mrelease', *call(448, fd, 0))
