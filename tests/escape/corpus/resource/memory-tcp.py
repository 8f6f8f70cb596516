# id: resource-memory-tcp
# category: resource
# profile: open
# threat: fills TCP buffers, which a cgroup of version 1 counts apart from memory, and of which the host has one pool
# expect: memory_exceeded error
# limits: memory=64 timeout=20
# needs: cgroup
import socket
server = socket.socket()
server.bind(('127.0.0.1', 0))
server.listen(200)
server.settimeout(2)
keep, total = [], 0
try:
    for i in range(100):
        client = socket.socket()
        client.settimeout(2)
        client.connect(server.getsockname())
        keep += [client, server.accept()[0]]
        client.setblocking(False)
        try:
            while True:
                total += client.send(bytes(65536))
        except BlockingIOError:
            pass
except OSError as error:
    print(error)
print(total >> 20)
if total <= 64 << 20:
    raise SystemExit(1)  # the buffers were bounded
