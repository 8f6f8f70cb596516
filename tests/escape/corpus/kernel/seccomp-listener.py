# id: kernel-seccomp-listener
# category: kernel
# profile: open
# threat: installs a notifying filter and answers calls for other processes
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
import ctypes, struct
insn = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 0x7ffc0000))
prog = struct.pack('HHIQ', 1, 0, 0, ctypes.addressof(insn))
judge('seccomp new listener', *call(317, 1, 8, prog))
