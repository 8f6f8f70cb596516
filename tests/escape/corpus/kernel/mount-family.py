# id: kernel-mount-family
# category: kernel
# profile: open
# threat: mounts, unmounts, changes root
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
judge('mount', *call(165, b'none', b'/tmp', b'tmpfs', 0, None))
judge('mount bad pointer', *call(165, 1, 1, 1, 0, 1))
judge('remount', *call(165, b'none', b'/', None, 32 | 4096, None))
judge('umount2', *call(166, b'/proc', 2))
judge('chroot', *call(161, b'/tmp'))
judge('chroot bad pointer', *call(161, 1))
judge('pivot_root', *call(155, b'/', b'/'))
