# id: policy-eval-call
# category: policy
# profile: strict
# threat: evaluates a string
# expect: refused
eval("print('ESC' + 'APED:')")
