# id: resource-memory-sockets
# category: resource
# profile: open
# threat: fills socket buffers, which are memory of the kernel
# expect: success error memory_exceeded
# limits: memory=128 timeout=20 pids=64
import os, socket, time
def fill():
    n = 0
    keep = []
    try:
        for i in range(120):
            a, b = socket.socketpair()
            keep += [a, b]
            for s in (a, b):
                s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8 << 20)
                s.setblocking(False)
                try:
                    while True:
                        n += s.send(bytes(65536))
                except BlockingIOError:
                    pass
    except OSError:
        pass
    return n, keep
r, w = os.pipe()
total = 0
for i in range(12):
    if os.fork() == 0:
        n, keep = fill()
        os.write(w, n.to_bytes(8, 'little'))
        time.sleep(3)
        os._exit(0)
for i in range(12):
    total += int.from_bytes(os.read(r, 8), 'little')
print(total >> 20)
if total > 400 << 20:
    print('ESC' + 'APED:', total)
