# id: network-socket-families
# category: network
# profile: open
# threat: socket families that cross namespaces or have a history of kernel bugs
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
for family in range(0, 50):
    if family in (1, 2, 10):
        continue
    for kind in (1, 2, 3, 5):
        r, e = call(41, family, kind, 0)
        if r >= 0:
            print('ESC' + 'APED:', family, kind)
        elif e not in (1, 97, 13):
            print('UNFIL' + 'TERED:', family, kind, e)
r, e = call(53, 40, 1, 0, bytearray(8))
print('socketpair vsock', r, e)
r, e = call(41, 40 | 1 << 32, 1, 0)
print('ESC' + 'APED: high bits' if r >= 0 else 'high bits refused')
