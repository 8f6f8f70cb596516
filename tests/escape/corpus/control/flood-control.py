# id: control-flood-control
# category: control
# profile: open
# threat: floods the control channel with as much as it takes
# expect: error
import os
fds = []
for fd in range(1024):
    try:
        os.fstat(fd)
        fds.append(fd)
    except OSError:
        pass
extra = [fd for fd in fds if fd > 2]
for i in range(2000):
    for fd in extra:
        try:
            os.write(fd, b'\xff' * 65536)
        except OSError as e:
            os._exit(4)
