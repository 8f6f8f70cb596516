# id: network-fast-open-mptcp
# category: network
# profile: open
# threat: other ways into TCP: data in the first packet, multipath, sendto without connect
# expect: success error
import socket
def mptcp():
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
    s.settimeout(1)
    s.connect(('127.0.0.1', @TCP_PORT@))
def fastopen():
    s = socket.socket()
    s.settimeout(1)
    s.sendto(b'x', 0x20000000, ('127.0.0.1', @TCP_PORT@))
def sctp():
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132)
    s.settimeout(1)
    s.connect(('127.0.0.1', @TCP_PORT@))
for f in (mptcp, fastopen, sctp):
    try:
        f()
        print('ESC' + 'APED:', f.__name__)
    except OSError as e:
        print('contained', f.__name__, e.errno)
