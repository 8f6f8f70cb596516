# id: resource-memory-sockets
# category: resource
# profile: open
# threat: fills socket buffers, which are memory of the kernel
# expect: memory_exceeded error
# limits: memory=128 timeout=20 pids=64
# needs: cgroup
# process: there are no sockets to fill
import os, socket, time
def fill():
    n = 0
    keep = []
    try:
        while n < 100 << 20:
            a, b = socket.socketpair()
            keep += [a, b]
            a.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8 << 20)
            a.setblocking(False)
            try:
                while n < 100 << 20:
                    n += a.send(bytes(65536))
            except BlockingIOError:
                pass
    except OSError:
        pass
    return n, keep
r, w = os.pipe()
total = 0
for i in range(8):
    if os.fork() == 0:
        n, keep = fill()
        os.write(w, n.to_bytes(8, 'little'))
        time.sleep(3)
        os._exit(0)
os.close(w)
for i in range(8):
    total += int.from_bytes(os.read(r, 8), 'little')
print(total >> 20)
if total <= 400 << 20:
    raise SystemExit(1)  # the buffers were bounded
