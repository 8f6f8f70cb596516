# id: policy-marshal-loads
# category: policy
# profile: strict
# threat: loads a code object from bytes
# expect: refused
import marshal
import types
types.FunctionType(marshal.loads(b'c' + bytes(200)), {})()
print('ESC' + 'APED:')
