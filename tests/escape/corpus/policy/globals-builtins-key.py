# id: policy-globals-builtins-key
# category: policy
# profile: strict
# threat: takes the builtins out of the module's own namespace
# expect: refused error
b = globals()['__built' + 'ins__']
f = b['ev' + 'al'] if isinstance(b, dict) else getattr(b, 'ev' + 'al')
f("print('ESC' + 'APED:')")
