# id: control-forged-refusal
# category: control
# profile: open
# threat: claims that the policy refused it, after it has done its work
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
s = lambda b: struct.pack('<I', len(b)) + b
body = struct.pack('<I', 1) + s(b'import') + s(b'os') + s(b'no') + s(b'') + struct.pack('<III', 1, 1, 0)
for fd in fds:
    if fd > 2:
        try:
            os.write(fd, b'BJ\x01\x0c' + struct.pack('<I', len(body)) + body)
        except OSError as e:
            pass
os._exit(3)
