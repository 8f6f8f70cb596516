# id: control-forged-calls
# category: control
# profile: open
# threat: writes calls by hand: owners of its choosing, calls nobody grants, names and arguments that are none, numbers twice
# expect: success
# require: answered 12
import json, os, struct
span = lambda b: struct.pack('<I', len(b)) + b
def ask(number, name, arguments):
    body = struct.pack('<Q', number) + span(name) + span(arguments)
    os.write(62, b'BJ' + struct.pack('<BBI', 1, 28, len(body)) + body)
    head = os.read(58, 8)
    size = struct.unpack('<I', head[4:])[0]
    data = b''
    while len(data) < size:
        data += os.read(58, size - len(data))
    return data[8], json.loads(data[13:])
wrong = [
    (b'state.list', b'{"owner": "root"}'),
    (b'state.load', b'{"session_id": "x", "owner": "default"}'),
    (b'state.load', b'{"session_id": "../../default/x"}'),
    (b'servers.host.run', b'{"command": "id"}'),
    (b'state.list\0', b'{}'),
    (b'state.', b'{}'),
    (b'\xff\xfe', b'{}'),
    (b'state.list', b''),
    (b'state.list', b'[' * 100000),
    (b'state.list', b'{"a":1,"a":2}'),
    (b'state.save', b'{"session_id": "x", "state": {"a": ' + b'[' * 5000 + b']' * 5000 + b'}}'),
]
answered = 0
for name, arguments in wrong:
    is_ok, said = ask(7, name, arguments)
    answered += 1
    if is_ok or set(said) - {'code', 'message', 'hint'}:
        print('ESC' + 'APED:', name, said)
is_ok, said = ask(2**64 - 1, b'state.list', b'{}')
answered += is_ok
print('answered', answered)
