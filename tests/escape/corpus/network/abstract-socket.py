# id: network-abstract-socket
# category: network
# profile: open
# threat: an abstract Unix socket has no file and no mount to hide it
# expect: success error
import socket
for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM):
    s = socket.socket(socket.AF_UNIX, kind)
    try:
        s.connect('\0@ABSTRACT_SOCKET@')
        print('ESC' + 'APED:', kind)
    except OSError as e:
        print('contained', e.errno)
with open('/proc/net/unix') as f:
    for line in f:
        if '@ABSTRACT_SOCKET@' in line:
            print('ESC' + 'APED: listed')
