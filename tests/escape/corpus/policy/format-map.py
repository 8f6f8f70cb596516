# id: policy-format-map
# category: policy
# profile: strict
# threat: the same through format_map
# expect: refused error
def f():
    pass
print('ESC' + 'APED:', '{f.__globals__}'.format_map({'f': f}))
