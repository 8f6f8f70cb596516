# id: kernel-legacy-calls
# category: kernel
# profile: open
# threat: old calls that nobody needs and that nobody audits any more
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
for name, nr, args in (('modify_ldt', 154, (0, bytearray(64), 64)), ('modify_ldt write', 154, (1, bytes(16), 16)), ('uselib', 134, (b'/bin/true',)),
                       ('ustat', 136, (0, bytearray(64))), ('sysfs', 139, (3,)), ('_sysctl', 156, (bytes(64),)), ('lookup_dcookie', 212, (0, bytearray(64), 64)),
                       ('nfsservctl', 180, (0, None, None)), ('vserver', 236, ()), ('security', 185, ()), ('remap_file_pages', 216, (0, 4096, 0, 0, 0))):
    judge(name, *call(nr, *args))
