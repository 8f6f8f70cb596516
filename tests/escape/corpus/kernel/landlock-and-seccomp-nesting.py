# id: kernel-landlock-and-seccomp-nesting
# category: kernel
# profile: open
# threat: stacks its own filters on top until the kernel runs out of room, or weakens what is there
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
import ctypes, os, struct
insn = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 0x7fff0000))
prog = struct.pack('HHIQ', 1, 0, 0, ctypes.addressof(insn))
for i in range(64):
    r, e = call(317, 1, 0, prog)
    if r < 0:
        break
print('stacked', i)
judge('unshare after', *call(272, 0x10000000))
judge('keyctl after', *call(250, 0, -3, 1))
