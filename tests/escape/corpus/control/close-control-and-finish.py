# id: control-close-control-and-finish
# category: control
# profile: open
# threat: closes the control channel and then ends well
# expect: success
# require: done
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
        os.close(fd)
print('done')
