# id: control-pass-descriptors
# category: control
# profile: open
# threat: sends descriptors over the control channel, to fill the supervisor's table
# expect: error
import array, os, socket
fds = []
for fd in range(1024):
    try:
        os.fstat(fd)
        fds.append(fd)
    except OSError:
        pass
for fd in fds:
    if fd > 2:
        try:
            s = socket.socket(fileno=os.dup(fd))
            for i in range(1000):
                s.sendmsg([b'BJ\x01\x0d\0\0\0\0'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [0, 1, 2] * 20))])
        except OSError as e:
            print(e.errno, flush=True)
os._exit(6)
