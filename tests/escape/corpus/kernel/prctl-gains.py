# id: kernel-prctl-gains
# category: kernel
# profile: open
# threat: asks prctl for everything that could widen its rights
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
for name, args in (('keepcaps', (8, 1)), ('ambient raise', (47, 2, 21, 0, 0)), ('securebits', (28, 0)), ('mm', (35, 1, 4096, 0, 0)),
                   ('no_new_privs off', (38, 0, 0, 0, 0)), ('tsc', (26, 99)), ('timerslack of 1', (29, 1))):
    r, e = call(157, *args)
    print(name, r, e)
    if r == 0 and name in ('ambient raise', 'mm', 'no_new_privs off'):
        print('ESC' + 'APED:', name)
with open('/proc/self/status') as f:
    text = f.read()
for line in text.splitlines():
    key, _, value = line.partition(':\t')
    if key in ('CapPrm', 'CapEff', 'CapBnd', 'CapInh', 'CapAmb') and int(value, 16):
        print('ESC' + 'APED:', line)
    if key == 'NoNewPrivs' and value != '1' or key == 'Seccomp' and value != '2':
        print('ESC' + 'APED:', line)
