# id: kernel-numa
# category: kernel
# profile: open
# threat: moves pages and sets memory policy, a frequent source of kernel bugs
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
mask = (1).to_bytes(8, 'little')
for name, nr, args in (('mbind', 237, (0, 4096, 0, mask, 64, 0)), ('set_mempolicy', 238, (0, None, 0)), ('migrate_pages', 256, (0, 64, mask, mask)),
                       ('move_pages', 279, (0, 0, None, None, None, 0)), ('set_mempolicy_home_node', 450, (0, 0, 0, 0))):
    judge(name, *call(nr, *args))
