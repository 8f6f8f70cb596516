# id: control-forged-success
# category: control
# profile: open
# threat: reports a good end of its own making on the control channel, as pid 1 would, and then fails
# expect: error
# limits: timeout=3
import os, struct
fds = []
for fd in range(1024):
    try:
        os.fstat(fd)
        fds.append(fd)
    except OSError:
        pass
def frame(kind, body):
    return b'BJ\x01' + bytes([kind]) + struct.pack('<I', len(body)) + body
for fd in fds:
    if fd > 2:
        try:
            os.write(fd, frame(9, struct.pack('<IQQ', 0, 0, 0)))
        except OSError as e:
            pass
os._exit(3)
