# id: policy-audit-hook
# category: policy
# profile: strict
# threat: adds a hook of its own and tries to stop the other one by raising in it
# expect: refused error
import sys
def hook(*a):
    raise RuntimeError
sys.addaudithook(hook)
print('ESC' + 'APED:')
