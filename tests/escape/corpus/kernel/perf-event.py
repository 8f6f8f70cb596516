# id: kernel-perf-event
# category: kernel
# profile: open
# threat: opens a performance counter on itself, a large kernel surface that needs no privilege
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
import struct
attr = struct.pack('IIQQQQQ', 1, 112, 0, 0, 0, 0, 1 | 1 << 5 | 1 << 6) + bytes(72)
judge('perf_event_open', *call(298, attr, 0, -1, -1, 0))
