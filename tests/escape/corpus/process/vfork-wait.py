# id: process-vfork-wait
# category: process
# profile: open
# threat: waits in vfork, where a process cannot be interrupted until its child lets go
# expect: timeout error
# limits: timeout=1
import ctypes, os, time
libc = ctypes.CDLL(None)
if os.fork() == 0:
    time.sleep(20)
    os._exit(0)
r = libc.syscall(58)
if r == 0:
    libc.sleep(20)
    libc._exit(0)
