# id: kernel-clone3-namespaces
# category: kernel
# profile: open
# threat: clone3 hides its flags behind a pointer that the filter cannot read
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
import os, struct
for name, flag in (('plain', 0), ('user', 0x10000000), ('net', 0x40000000), ('into cgroup', 0x200000000), ('time', 0x80)):
    args = struct.pack('8Q', flag, 0, 0, 0, 17, 0, 0, 0) + bytes(24)
    r, e = call(435, args, len(args))
    if r == 0:
        os._exit(0)
    if r > 0:
        os.waitpid(r, 0)
    judge(f'clone3 {name}', r, e)
