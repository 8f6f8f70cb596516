# id: policy-builtin-as-decorator
# category: policy
# profile: strict
# threat: calls a blocked builtin without a call node, as a decorator
# expect: refused
@exec
@"print('ESC' + 'APED:')".format
class X:
    pass
