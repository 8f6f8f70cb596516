# id: kernel-io-uring
# category: kernel
# profile: open
# threat: io_uring does file and socket work past the system call filter
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
judge('io_uring_setup', *call(425, 8, bytearray(120)))
judge('io_uring_enter', *call(426, 0, 0, 0, 0, None, 0))
judge('io_uring_register', *call(427, -1, 2, None, 0))
