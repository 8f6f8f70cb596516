# id: kernel-kexec-modules
# category: kernel
# profile: open
# threat: replaces the kernel or adds a module to it
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
judge('kexec_load', *call(246, 0, 0, None, 0))
judge('kexec_file_load', *call(320, -1, -1, 0, b'', 0))
judge('init_module', *call(175, None, 0, b''))
judge('finit_module', *call(313, -1, b'', 0))
judge('delete_module', *call(176, b'nothing', 0))
