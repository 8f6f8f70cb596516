# id: kernel-x32-entry
# category: kernel
# profile: open
# threat: enters the kernel with the x32 bit set, so that numbers miss the filter
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
pid = os.fork()
if pid == 0:
    for name, nr, args in (('getpid', 39, ()), ('unshare', 272, (0x10000000,)), ('ptrace', 521, (0, 0, 0, 0)), ('execve', 520, (b'/bin/true', None, None))):
        r, e = call(nr | 0x40000000, *args)
        print(name, r, e, flush=True)
        if r >= 0:
            print('ESC' + 'APED:', name, flush=True)
    os._exit(0)
print('child ended with', os.waitpid(pid, 0)[1])
