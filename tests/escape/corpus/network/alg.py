# id: network-alg
# category: network
# profile: open
# threat: the kernel's crypto sockets
# expect: success error
import socket
try:
    s = socket.socket(38, socket.SOCK_SEQPACKET)
    s.bind(('hash', 'sha256'))
    print('ESC' + 'APED:')
except OSError as e:
    print(e.errno)
