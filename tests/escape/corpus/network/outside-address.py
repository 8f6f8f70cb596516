# id: network-outside-address
# category: network
# profile: open
# threat: connects to the world, the metadata service and the gateway
# expect: success error
# limits: timeout=10
import socket
for host in ('1.1.1.1', '8.8.8.8', '169.254.169.254', '10.0.0.1', '192.168.0.1', '172.17.0.1', '10.0.2.2'):
    s = socket.socket()
    s.settimeout(1)
    try:
        s.connect((host, 80))
        print('ESC' + 'APED:', host)
    except OSError as e:
        print('contained', host, e.errno)
