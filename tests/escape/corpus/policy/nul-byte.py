# id: policy-nul-byte
# category: policy
# profile: strict
# threat: a NUL byte ends the text for one reader and not for another
# expect: refused invalid
x = 1 # @NUL@

import os
os.system('echo ESC""APED:'); print('ESC' + 'APED:')
