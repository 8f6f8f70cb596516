# id: policy-function-type
# category: policy
# profile: strict
# threat: builds a function out of code objects with its own globals
# expect: refused error
import types
f = types.FunctionType((lambda: 0).__code__, {'__builtins__': {}})
print('ESC' + 'APED:', types.CodeType, f())
