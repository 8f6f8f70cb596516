# id: policy-marshal-loads
# category: policy
# profile: strict
# threat: loads a code object from bytes
# expect: refused
import marshal
import types
code = marshal.dumps((lambda: print('ESC' + 'APED:')).__code__)
types.FunctionType(marshal.loads(code), {'print': print})()
