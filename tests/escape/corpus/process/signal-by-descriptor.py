# id: process-signal-by-descriptor
# category: process
# profile: open
# threat: signals processes outside through owners of descriptors and timers
# expect: success error
import fcntl, os, signal, socket
a, b = socket.socketpair()
for pid in (@VICTIM_PID@, -@VICTIM_PID@, 1):
    try:
        fcntl.fcntl(a, fcntl.F_SETOWN, pid)
        fcntl.fcntl(a, 10, signal.SIGKILL)
        fcntl.fcntl(a, fcntl.F_SETFL, os.O_ASYNC)
        b.send(b'x')
        print('sent to', pid)
    except OSError as e:
        print(pid, e.errno)
