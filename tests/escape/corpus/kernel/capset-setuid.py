# id: kernel-capset-setuid
# category: kernel
# profile: open
# threat: becomes somebody else
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
head = struct.pack('Ii', 0x20080522, 0)
judge_soft = lambda name, r: print('ESC' + 'APED:', name) if r == 0 else print(name, 'refused')
judge_soft('capset', call(126, head, struct.pack('6I', 0xffffffff, 0xffffffff, 0, 0x1ff, 0x1ff, 0))[0])
for name, f in (('setuid', lambda: os.setuid(0)), ('setgid', lambda: os.setgid(0)), ('setresuid', lambda: os.setresuid(0, 0, 0)),
                ('seteuid 1', lambda: os.seteuid(1)), ('setgroups', lambda: os.setgroups([0, 4, 6])), ('setfsuid', lambda: 1 / (call(122, 0)[0] != 0))):
    before = os.getresuid(), os.getresgid(), os.getgroups()
    try:
        f()
    except (OSError, ZeroDivisionError) as e:
        print(name, 'refused')
    after = os.getresuid(), os.getresgid(), os.getgroups()
    if before != after:
        print('ESC' + 'APED:', name, before, after)
