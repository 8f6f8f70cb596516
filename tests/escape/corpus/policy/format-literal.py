# id: policy-format-literal
# category: policy
# profile: strict
# threat: reads internals through a literal format field path
# expect: refused
def f():
    pass
print('{0.__globals__[__builtins__]}'.format(f), 'ESC' + 'APED:')
