# id: network-standard-profile
# category: network
# profile: standard
# threat: the standard profile has no network unless a host was granted
# expect: refused error success
import socket
s = socket.create_connection(('127.0.0.1', @TCP_PORT@), timeout=1)
print('ESC' + 'APED:')
