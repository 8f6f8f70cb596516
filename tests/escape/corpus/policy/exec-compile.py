# id: policy-exec-compile
# category: policy
# profile: strict
# threat: compiles and executes a string
# expect: refused
exec(compile("print('ESC' + 'APED:')", 's', 'exec'))
