# id: network-vsock
# category: network
# profile: open
# threat: a virtual socket reaches the hypervisor past every network namespace
# expect: success error
import socket
for cid in (0, 1, 2, 3):
    try:
        s = socket.socket(40, socket.SOCK_STREAM)
        s.settimeout(1)
        s.connect((cid, 1024))
        print('ESC' + 'APED:', cid)
    except OSError as e:
        print(cid, e.errno)
        if e.errno not in (1, 97):
            print('UNFIL' + 'TERED:', e.errno)
