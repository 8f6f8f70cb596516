# id: kernel-personality
# category: kernel
# profile: open
# threat: switches address randomisation off and read-implies-exec on
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
for flag in (0x0040000, 0x0400000, 0x0100000, 0x0008, 0x4000000):
    r, e = call(135, flag)
    judge(f'personality {flag:#x}', r, e)
