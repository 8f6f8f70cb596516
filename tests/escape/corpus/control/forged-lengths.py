# id: control-forged-lengths
# category: control
# profile: open
# threat: frames whose inner lengths and counts do not fit
# expect: error
import os, struct, sys
fds = []
for fd in range(1024):
    try:
        os.fstat(fd)
        fds.append(fd)
    except OSError:
        pass
for body in (b'', b'\xff\xff\xff\xff', struct.pack('<I', 5) + b'abc', struct.pack('<II', 0, 0xfffffff0), struct.pack('<I', 0x7fffffff) + b'x' * 100):
    for kind in (12, 13, 14, 15, 11, 8, 0, 16, 255):
        for fd in fds:
            if fd > 2:
                try:
                    os.write(fd, b'BJ\x01' + bytes([kind]) + struct.pack('<I', len(body)) + body)
                except OSError:
                    pass
os._exit(2)
