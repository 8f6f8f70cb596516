# id: kernel-tiocsti
# category: kernel
# profile: open
# threat: types characters into the terminal of the operator
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
for path in ('/dev/tty', '/dev/console', '/dev/tty0', '/dev/tty1', '/dev/pts/0', '/dev/ptmx'):
    try:
        fd = os.open(path, os.O_RDWR | os.O_NOCTTY)
        print('open', path)
    except OSError:
        fd = 0
    for name, req in (('TIOCSTI', 0x5412), ('TIOCLINUX', 0x541c), ('TIOCSETD', 0x5423)):
        judge(f'{name} {path}', *call(16, fd, req, bytearray(b'\x03' + bytes(15))))
    judge(f'TIOCSTI high bits {path}', *call(16, fd, 0x5412 | 1 << 32, bytearray(b'x')))
