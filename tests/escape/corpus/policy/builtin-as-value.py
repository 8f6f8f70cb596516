# id: policy-builtin-as-value
# category: policy
# profile: strict
# threat: never calls a blocked builtin, only hands it to something that will
# expect: refused
list(map(eval, ["print('ESC' + 'APED:')"]))
