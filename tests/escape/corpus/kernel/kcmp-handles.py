# id: kernel-kcmp-handles
# category: kernel
# profile: open
# threat: compares kernel objects of other processes, opens files by handle past the mounts
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
judge('kcmp', *call(312, os.getpid(), 1, 0, 1, 1))
handle = bytearray(struct.pack('Ii', 128, 0) + bytes(128))
judge('name_to_handle_at', *call(303, -100, b'/', handle, bytearray(8), 0))
for inode in (1, 2, 128):
    h = struct.pack('IiQ', 8, 1, inode)
    fd = os.open('/', os.O_RDONLY)
    judge('open_by_handle_at', *call(304, fd, h, 0))
