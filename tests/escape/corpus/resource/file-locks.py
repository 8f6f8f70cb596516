# id: resource-file-locks
# category: resource
# profile: open
# threat: locks, leases and watches, which are kernel memory
# expect: success error memory_exceeded timeout
# limits: timeout=10
import ctypes, fcntl, os
libc = ctypes.CDLL(None, use_errno=True)
n = 0
with open('/tmp/l', 'wb') as f:
    try:
        for i in range(50000):
            fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, i * 2)
            n += 1
    except OSError as e:
        print('stopped', e.errno)
print(n)
