# id: control-unread-replies
# category: control
# profile: open
# threat: asks and asks and never reads an answer, until the supervisor's memory is full
# expect: error timeout
# limits: timeout=20
import os, struct
span = lambda b: struct.pack('<I', len(b)) + b
body = struct.pack('<Q', 1) + span(b'apis.list') + span(b'{"detail": "full", "name": "api"}')
while True:
    os.write(62, b'BJ' + struct.pack('<BBI', 1, 28, len(body)) + body)
