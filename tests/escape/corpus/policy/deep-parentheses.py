# id: policy-deep-parentheses
# category: policy
# profile: strict
# threat: nesting deep enough to overflow a recursive checker or parser
# expect: refused error
x = @TIMES 500 (@1@TIMES 500 )@
import os
print('ESC' + 'APED:')
