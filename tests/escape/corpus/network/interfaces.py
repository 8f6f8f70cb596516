# id: network-interfaces
# category: network
# profile: open
# threat: finds an interface, a route or a neighbour
# expect: success error
import socket
names = [n for _, n in socket.if_nameindex()] if hasattr(socket, 'if_nameindex') else []
print(names)
if set(names) - {'lo'}:
    print('ESC' + 'APED:', names)
for p in ('/proc/net/route', '/proc/net/arp', '/proc/net/tcp', '/proc/net/fib_trie'):
    try:
        with open(p) as f:
            lines = f.read().splitlines()[1:]
        if lines:
            print('ESC' + 'APED:', p, lines[:2])
    except OSError as e:
        print(p, e.errno)
