# id: policy-huge-source
# category: policy
# profile: strict
# threat: a source that is over-long by one statement
# expect: refused invalid
x = '@TIMES 1048576 x@'
print('ESC' + 'APED:')
