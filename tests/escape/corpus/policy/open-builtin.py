# id: policy-open-builtin
# category: policy
# profile: strict
# threat: opens a file
# expect: refused error
print(open('/etc/passwd').read(), 'ESC' + 'APED:')
