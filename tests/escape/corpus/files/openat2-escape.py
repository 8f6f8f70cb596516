# id: files-openat2-escape
# category: files
# profile: open
# threat: opens with flags of the newer call that change how a path is resolved
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
root = os.open('/', os.O_RDONLY | os.O_DIRECTORY)
for resolve in (0, 1, 2, 4, 8, 16):
    for path in (b'@CANARY_FILE@', b'..@CANARY_FILE@', b'/proc/1/root@CANARY_FILE@'):
        r, e = call(437, root, path, struct.pack('QQQ', 0, 0, resolve), 24)
        if r >= 0:
            print('ESC' + 'APED:', path)
print('end')
