# id: files-descriptor-count
# category: files
# profile: open
# threat: holds descriptors it was not meant to have: at most the three pipes and one control socket
# expect: success error
import os
fds = []
for fd in range(1024):
    try:
        os.fstat(fd)
        fds.append(fd)
    except OSError:
        pass
extra = [fd for fd in fds if fd > 2]
print(len(extra))
if len(extra) > 1:
    print('ESC' + 'APED:', [(fd, os.readlink(f'/proc/self/fd/{fd}')) for fd in extra])
