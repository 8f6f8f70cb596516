# id: control-forged-display
# category: control
# profile: open
# threat: writes displays of its own making into the channel: types with control characters, counts and lengths that lie
# expect: error
import os, struct
span = lambda b: struct.pack('<I', len(b)) + b
one = lambda mime, data=b'x', metadata=b'': struct.pack('<I', 1) + span(mime) + span(data) + span(metadata)
bodies = [
    one(b'image/png', b'\x89PNG', b'{"width": 1e999, "height": -1}'),
    one(b'image/png', b'\x89PNG', b'[' * 60000),
    one(b'text/plain', b'\x1b]0;title\x07\xff\xfe\0'),
    one(b'application/json', b'[' * 100000),
    one(b'application/x+json', b'{"a":1,"a":2}'),
    one(b'image/png\n\x1b[2J'),
]
for fd in range(3, 1024):
    try:
        os.fstat(fd)
    except OSError:
        continue
    for body in bodies:
        try:
            os.write(fd, b'BJ' + struct.pack('<BBI', 1, 16, len(body)) + body)
        except OSError:
            pass
print('written', flush=True)
import time
time.sleep(2)
os._exit(0)
