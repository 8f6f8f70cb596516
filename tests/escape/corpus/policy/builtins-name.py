# id: policy-builtins-name
# category: policy
# profile: strict
# threat: names __builtins__ directly, by subscript and by attribute
# expect: refused
try:
    f = __builtins__['eval']
except TypeError:
    f = __builtins__.eval
f("print('ESC' + 'APED:')")
