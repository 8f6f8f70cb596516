# id: network-tcp-connect
# category: network
# profile: open
# threat: connects to a service on the host's loopback
# expect: success error
import socket
for family, host in ((socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1'), (socket.AF_INET, '0.0.0.0'), (socket.AF_INET, '127.1.2.3'), (socket.AF_INET6, '::ffff:127.0.0.1')):
    try:
        s = socket.socket(family)
        s.settimeout(1)
        s.connect((host, @TCP_PORT@))
        print('ESC' + 'APED:', host)
    except OSError as e:
        print('contained', host, e.errno)
