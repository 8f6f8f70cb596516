# id: network-descriptor-passing
# category: network
# profile: open
# threat: passes descriptors over sockets to itself in a circle, to leave them in flight
# expect: success
# require: made
import array, os, socket
made = 0
try:
    for i in range(500):
        a, b = socket.socketpair()
        a.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [a.fileno(), b.fileno()]))])
        made += 1
        a.close()
        b.close()
except OSError as e:
    print('stopped', e.errno)
print('made', made)
