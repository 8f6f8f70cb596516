# id: network-dns
# category: network
# profile: open
# threat: looks names up: a lookup is a message to the outside
# expect: success error
# limits: timeout=10
import socket
for name in ('example.com', 'localhost.localdomain', '_x.belljar.test'):
    try:
        print('ESC' + 'APED:' if name == 'example.com' else 'local', socket.getaddrinfo(name, 80))
    except OSError as e:
        print('contained', e)
