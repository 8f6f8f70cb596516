# id: control-read-control
# category: control
# profile: open
# threat: reads the control channel, in case secrets or other people's code come by
# expect: success error timeout
# limits: timeout=3
import os
fds = []
for fd in range(1024):
    try:
        os.fstat(fd)
        fds.append(fd)
    except OSError:
        pass
for fd in fds:
    if fd > 2:
        os.set_blocking(fd, False)
        try:
            data = os.read(fd, 65536)
            print(fd, len(data))
            if data:
                print('ESC' + 'APED:', data[:80])
        except OSError as e:
            print(fd, e.errno)
