# id: cross-posix-mqueue
# category: cross
# profile: open
# threat: POSIX queues and semaphores of an earlier run are still there
# expect: success error
# runs: 2
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for lib in ('librt.so.1', 'libc.so.6'):
    try:
        rt = ctypes.CDLL(lib, use_errno=True)
        f = rt.mq_open
        break
    except (OSError, AttributeError):
        f = None
if f:
    if f(b'/bjleft', 0) >= 0:
        print('ESC' + 'APED: queue')
    print('made', f(b'/bjleft', os.O_CREAT | os.O_RDWR, 0o666, None))
