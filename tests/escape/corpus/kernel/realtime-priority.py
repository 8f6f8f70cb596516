# id: kernel-realtime-priority
# category: kernel
# profile: open
# threat: takes the processors for itself with a real-time class or a negative nice value
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
for name, f in (('fifo', lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))),
                ('rr', lambda: os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))),
                ('nice', lambda: os.setpriority(os.PRIO_PROCESS, 0, -5))):
    try:
        f()
        print('ESC' + 'APED:', name)
    except OSError as e:
        print(name, e.errno)
r, e = call(314, 0, struct.pack('IIQiIQQQ', 48, 6, 0, 0, 0, 10000000, 20000000, 20000000), 0)
print('ESC' + 'APED: deadline' if r == 0 else 'deadline refused')
r, e = call(251, 1, 0, 1 << 13)
print('ESC' + 'APED: ioprio' if r == 0 else 'ioprio refused')
