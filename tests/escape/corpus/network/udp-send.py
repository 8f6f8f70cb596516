# id: network-udp-send
# category: network
# profile: open
# threat: sends datagrams, which some fences forget
# expect: success error
import socket
for family, host in ((socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1'), (socket.AF_INET, '8.8.8.8'), (socket.AF_INET, '255.255.255.255'), (socket.AF_INET, '224.0.0.1')):
    try:
        s = socket.socket(family, socket.SOCK_DGRAM)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        s.sendto(b'ping', (host, @TCP_PORT@))
        print('sent', host)
    except OSError as e:
        print('contained', host, e.errno)
