# id: policy-deep-attribute-chain
# category: policy
# profile: strict
# threat: an attribute chain thousands of levels deep
# expect: refused error
x = a@TIMES 5000 .a@
import os
print('ESC' + 'APED:')
