# id: policy-deep-unary
# category: policy
# profile: strict
# threat: a tree thousands of levels deep that the parser accepts more easily than a checker
# expect: refused error
x = @TIMES 5000 -@1
import os
print('ESC' + 'APED:')
