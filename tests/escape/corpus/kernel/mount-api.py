# id: kernel-mount-api
# category: kernel
# profile: open
# threat: the descriptor-based mount calls, which older filters do not know
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
for name, nr, args in (('open_tree', 428, (-100, b'/', 0)), ('open_tree clone', 428, (-100, b'/', 1)), ('move_mount', 429, (-1, b'', -1, b'', 4)),
                       ('fsopen', 430, (b'tmpfs', 0)), ('fsconfig', 431, (-1, 6, None, None, 0)), ('fsmount', 432, (-1, 0, 0)),
                       ('fspick', 433, (-100, b'/', 0)), ('mount_setattr', 442, (-100, b'/', 0, bytes(32), 32)),
                       ('statmount', 457, (bytes(32), bytearray(512), 512, 0)), ('listmount', 458, (bytes(32), bytearray(512), 64, 0)),
                       ('open_tree_attr', 467, (-100, b'/', 0, bytes(32), 32))):
    judge(name, *call(nr, *args))
