# id: files-descriptor-count
# category: files
# profile: open
# threat: holds descriptors it was not meant to have: at most the standard streams and two pipes, for what it reports and what it is answered
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
links = [os.readlink(f'/proc/self/fd/{fd}') for fd in extra]
if len(extra) > 2 or not all(link.startswith('pipe:') for link in links):
    print('ESC' + 'APED:', list(zip(extra, links)))
