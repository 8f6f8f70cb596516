# id: process-subreaper
# category: process
# profile: open
# threat: becomes a reaper so that its orphans stay its own
# expect: success error
import ctypes, os, time
libc = ctypes.CDLL(None)
libc.prctl(36, 1, 0, 0, 0)
if os.fork() == 0:
    libc.prctl(36, 1, 0, 0, 0)
    for i in range(5):
        if os.fork() == 0:
            libc.prctl(15, b'@ORPHAN@', 0, 0, 0)
            os.setsid()
            time.sleep(30)
            os._exit(0)
    os._exit(0)
print('left it')
