# id: kernel-process-vm
# category: kernel
# profile: open
# threat: reads and writes another process's memory
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
import ctypes, os, struct
buf = ctypes.create_string_buffer(16)
iov = struct.pack('QQ', ctypes.addressof(buf), 16)
for pid in (1, os.getppid(), os.getpid()):
    judge(f'readv {pid}', *call(310, pid, iov, 1, iov, 1, 0))
    judge(f'writev {pid}', *call(311, pid, iov, 1, iov, 1, 0))
