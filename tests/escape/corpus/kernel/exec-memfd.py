# id: kernel-exec-memfd
# category: kernel
# profile: open
# threat: runs a program that has no file, and a setuid one
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
fd = call(319, b'bj', 0)[0]
if fd >= 0:
    with open('/bin/true', 'rb') as f:
        os.write(fd, f.read())
    os.fchmod(fd, 0o6755)
    if os.fork() == 0:
        try:
            os.execve(fd, ['true'], {})
        except OSError as e:
            print(e, flush=True)
        os._exit(1)
    print('status', os.wait()[1], os.getresuid())
