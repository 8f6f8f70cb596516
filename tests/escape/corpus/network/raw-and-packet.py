# id: network-raw-and-packet
# category: network
# profile: open
# threat: raw and packet sockets
# expect: success error
import socket
for family, kind, proto in ((2, 3, 1), (2, 3, 255), (10, 3, 58), (17, 3, 3), (17, 2, 3), (17, 10, 3), (2, 10, 3), (2, 3 | 0x80000, 1)):
    try:
        socket.socket(family, kind, proto)
        print('ESC' + 'APED:', family, kind, proto)
    except OSError as e:
        print(family, kind, proto, e.errno)
        if e.errno not in (1, 13, 38, 97, 93, 94, 22):
            print('UNFIL' + 'TERED:', family, e.errno)
