# id: control-forged-frames
# category: control
# profile: open
# threat: writes frames of the internal protocol into every descriptor it finds
# expect: error
import os, socket, struct
fds = []
for fd in range(1024):
    try:
        os.fstat(fd)
        fds.append(fd)
    except OSError:
        pass
frames = b''
for kind in range(0, 40):
    for version in (0, 1, 2):
        for body in (b'', b'\0' * 4, b'\xff' * 64, struct.pack('<I', 0) * 8, struct.pack('<I', 0xffffffff) + b'x' * 16):
            frames += b'BJ' + struct.pack('<BBI', version, kind, len(body)) + body
            frames += struct.pack('<IHHI', 0x424a4c4c, version, kind, len(body)) + body
for fd in fds:
    if fd > 2:
        os.set_blocking(fd, False)
        for chunk in (frames, b'\0' * 100000, os.urandom(100000), b'{"status":"success"}\n' * 1000):
            try:
                os.write(fd, chunk)
            except OSError as e:
                print(fd, e.errno, flush=True)
os._exit(9)
