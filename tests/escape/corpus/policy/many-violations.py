# id: policy-many-violations
# category: policy
# profile: strict
# threat: thousands of violations, to exhaust the report
# expect: refused
x = [@TIMES 5000 eval,@]
print('ESC' + 'APED:')
