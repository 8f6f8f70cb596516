# id: policy-import-os
# category: policy
# profile: strict
# threat: imports a forbidden module in the plainest way and starts a shell
# expect: refused
import os
os.system('echo ESC""APED:')
