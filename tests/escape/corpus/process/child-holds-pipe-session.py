# id: process-child-holds-pipe-session
# category: process
# profile: open
# threat: the same from Python, with the child in a session of its own that ignores signals
# expect: success
# require: done
# limits: timeout=5
import ctypes, os, signal, time
if os.fork() == 0:
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(15, b'@ORPHAN@', 0, 0, 0)
    time.sleep(60)
    os._exit(0)
print('done', flush=True)
