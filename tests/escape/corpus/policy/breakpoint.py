# id: policy-breakpoint
# category: policy
# profile: strict
# threat: breakpoint imports what the environment names and gives a shell
# expect: refused error
breakpoint()
print('ESC' + 'APED:')
