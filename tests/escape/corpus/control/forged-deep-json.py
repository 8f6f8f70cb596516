# id: control-forged-deep-json
# category: control
# profile: open
# threat: sends a result nested a million levels deep, to overflow the reader's stack
# expect: success
import os, struct
fds = []
for fd in range(1024):
    try:
        os.fstat(fd)
        fds.append(fd)
    except OSError:
        pass
s = lambda b: struct.pack('<I', len(b)) + b
body = s(b'x') + s(b'[' * 1000000 + b']' * 1000000)
for fd in fds:
    if fd > 2:
        data = b'BJ\x01\x0e' + struct.pack('<I', len(body)) + body
        while data:
            try:
                data = data[os.write(fd, data):]
            except OSError:  # the one that only replies come on
                break
