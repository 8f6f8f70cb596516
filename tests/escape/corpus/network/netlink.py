# id: network-netlink
# category: network
# profile: open
# threat: asks the kernel for interfaces, routes, audit and kernel events
# expect: success error
import socket
for proto in (0, 4, 9, 12, 15, 16, 20):
    try:
        s = socket.socket(16, socket.SOCK_RAW, proto)
        s.bind((0, 0xffffffff if proto == 15 else 0))
        print('ESC' + 'APED:', proto)
    except OSError as e:
        print(proto, e.errno)
