# id: process-double-fork-setsid
# category: process
# profile: open
# threat: a daemon by the book: double fork, new session, closed descriptors, its own name
# expect: success error
import ctypes, os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(15, b'@ORPHAN@', 0, 0, 0)
        os.closerange(0, 64)
        time.sleep(30)
        os._exit(0)
    os._exit(0)
os.wait()
print('left it')
