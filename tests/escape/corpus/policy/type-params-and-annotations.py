# id: policy-type-params-and-annotations
# category: policy
# profile: strict
# threat: annotations, defaults and decorators are evaluated when a function is merely defined
# expect: refused
def f(x: eval("print('ESC' + 'APED:')") = exec("print('ESC' + 'APED:')")) -> __import__('os'):
    pass
