# id: policy-display-globals
# category: policy
# profile: strict
# threat: looks for a way from display() to the modules and builtins of its maker
# expect: refused
display.__self__
print('ESC' + 'APED:', display.__globals__['__builtins__'])
print('ESC' + 'APED:', display.__module__.__class__)
