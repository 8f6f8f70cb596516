# id: resource-memory-sysv
# category: resource
# profile: open
# threat: shared memory segments, filled, detached and left
# expect: success error memory_exceeded
# limits: memory=128 timeout=20
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
n = 0
for k in range(20):
    seg = libc.shmget(0, 32 << 20, 0o1600)
    if seg < 0:
        break
    p = libc.shmat(seg, None, 0)
    if p is None or p == ctypes.c_void_p(-1).value:
        break
    ctypes.memset(p, 1, 32 << 20)
    libc.shmdt(ctypes.c_void_p(p))
    n += 32
print(n)
if n > 200:
    print('ESC' + 'APED:', n)
