# id: process-orphan-respawn
# category: process
# profile: open
# threat: orphans that start each other anew, faster than a killer walking a list
# expect: success error timeout
# limits: pids=32 timeout=3
import ctypes, os, sys, time
libc = ctypes.CDLL(None)
if os.fork() == 0:
    libc.prctl(15, b'@ORPHAN@', 0, 0, 0)
    end = time.time() + 20
    while time.time() < end:
        try:
            if os.fork():
                os._exit(0)
        except OSError:
            pass
    os._exit(0)
print('left it')
