# id: control-forged-success
# category: control
# profile: open
# threat: repeats the messages of a good end on the control channel and then fails
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
for fd in fds:
    if fd > 2:
        for kind in range(1, 24):
            body = struct.pack('<II', 0, 0)
            try:
                os.write(fd, struct.pack('<IBBHI', 0x4a42, 1, kind, 0, len(body)) + body)
            except OSError as e:
                break
os._exit(3)
