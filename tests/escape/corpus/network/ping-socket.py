# id: network-ping-socket
# category: network
# profile: open
# threat: the unprivileged ping socket
# expect: success
# require: contained
import socket
try:
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)
    s.sendto(b'\x08\0\xf7\xff\0\0\0\0', ('127.0.0.1', 0))
    s.settimeout(1)
    print('reply', len(s.recv(64)))
except OSError as e:
    print('contained', e.errno)
