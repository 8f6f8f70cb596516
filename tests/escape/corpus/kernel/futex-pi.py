# id: kernel-futex-pi
# category: kernel
# profile: open
# threat: priority inheritance, with every flag an operation can have
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
word = bytearray(8)
other = bytearray(8)
for op, name in ((6, 'LOCK_PI'), (7, 'UNLOCK_PI'), (8, 'TRYLOCK_PI'), (11, 'WAIT_REQUEUE_PI'), (12, 'CMP_REQUEUE_PI'), (13, 'LOCK_PI2')):
    for flags in (0, 128, 256, 384, 1 << 32, 1 << 32 | 128):
        judge(f'{name} {flags:#x}', *call(202, word, op | flags, 1, 0, other, 0))
for nr, name in ((449, 'waitv'), (454, 'wake'), (455, 'wait'), (456, 'requeue')):
    judge('futex_' + name, *call(nr, word, 0, 0, 2, 0, 0))
attr, mutex = bytearray(64), bytearray(64)
buf = lambda b: (ctypes.c_char * len(b)).from_buffer(b)
libc.pthread_mutexattr_init(buf(attr))
libc.pthread_mutexattr_setprotocol(buf(attr), 1)
r = libc.pthread_mutex_init(buf(mutex), buf(attr))
print('pthread', r)
if r == 0 and libc.pthread_mutex_lock(buf(mutex)) == 0:
    print('ESC' + 'APED: a mutex with priority inheritance')
