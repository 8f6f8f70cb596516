# id: control-forged-bad-text
# category: control
# profile: open
# threat: sends a result and an exception that are no valid text
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
bad = bytes(range(256)) * 4
for kind, body in ((14, s(bad) + s(bad)), (15, s(bad) * 3 + struct.pack('<IIII', 0xffffffff, 1, 1, 2) + s(bad) * 2)):
    for fd in fds:
        if fd > 2:
            try:
                os.write(fd, b'BJ\x01' + bytes([kind]) + struct.pack('<I', len(body)) + body)
            except OSError:
                pass
