# id: kernel-keyrings
# category: kernel
# profile: open
# threat: kernel keyrings are not namespaced: a key survives the run and is seen by others
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
for name, nr, args in (('add_key', 248, (b'user', b'bjkey', b'x', 1, -3)), ('request_key', 249, (b'user', b'bjkey', None, -3)),
                       ('keyctl', 250, (0, -3, 1)), ('keyctl join', 250, (1, b'bjring'))):
    judge(name, *call(nr, *args))
