# id: cross-host-sysv
# category: cross
# profile: open
# threat: attaches to a shared memory segment of the host by its key
# expect: success error
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
seg = libc.shmget(@SHM_KEY@, 0, 0)
if seg >= 0:
    print('ESC' + 'APED:', ctypes.string_at(libc.shmat(seg, None, 0o10000), 64))
for i in range(64):
    p = libc.shmat(i, None, 0o10000)
    if p is not None and p != ctypes.c_void_p(-1).value:
        print('ESC' + 'APED: segment', i)
print('end')
