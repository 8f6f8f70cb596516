# id: kernel-syscall-high-bits
# category: kernel
# profile: open
# threat: a call number whose upper half is set, to pass a comparison of the lower half
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
for name, nr in (('unshare', 272), ('keyctl', 250), ('bpf', 321), ('userfaultfd', 323)):
    for high in (1 << 32, 1 << 63, 0xffffffff << 32):
        n = (nr | high) - ((1 << 64) if nr | high >= 1 << 63 else 0)
        judge(name, *call(n, 0x10000000 if nr == 272 else 0, bytes(128), 128))
