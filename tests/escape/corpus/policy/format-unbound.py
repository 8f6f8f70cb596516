# id: policy-format-unbound
# category: policy
# profile: strict
# threat: takes str.format as a value so that the template is only an argument
# expect: refused error
def f():
    pass
fmt = str.format
for out in map(fmt, ['{0.__code__.co_consts} {0.__globals__}'], [f]):
    print('ESC' + 'APED:', out)
