# id: kernel-sysv-and-mqueue-limits
# category: kernel
# profile: open
# threat: fills the kernel with message queues and semaphores that belong to no process
# expect: success error memory_exceeded timeout
# limits: memory=128 timeout=5
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
made = 0
for i in range(200):
    q, e = call(68, 0, 0o1600)
    if q < 0:
        break
    for j in range(64):
        if call(69, q, (1).to_bytes(8, 'little') + b'x' * 8000, 8000, 0o4000)[0] < 0:
            break
        made += 8000
print(made)
if made > 256 << 20:
    print('ESC' + 'APED: queues')
