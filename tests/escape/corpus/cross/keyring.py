# id: cross-keyring
# category: cross
# profile: open
# threat: a key of an earlier run is still in the session or user keyring
# expect: success error
# runs: 2
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for ring in (-3, -4, -5):
    if libc.syscall(250, 10, ring, b'user', b'bjleft', 0) >= 0:
        print('ESC' + 'APED: key')
    print(libc.syscall(248, b'user', b'bjleft', b'x', 1, ring))
