# id: benign-open-sockets-inside
# category: benign
# profile: open
# threat: none: a server and a client in the same sandbox
# expect: success
# require: pong
# process: needs sockets
import socket, threading
s = socket.socket()
s.bind(('127.0.0.1', 0))
s.listen()
def serve():
    c, _ = s.accept()
    c.sendall(b'pong')
    c.close()
threading.Thread(target=serve).start()
print(socket.create_connection(s.getsockname()).recv(10).decode())
a, b = socket.socketpair()
a.send(b'x')
print(b.recv(1))
