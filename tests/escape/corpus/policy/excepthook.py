# id: policy-excepthook
# category: policy
# profile: strict
# threat: installs hooks that run after the program ended
# expect: refused error
import atexit
import sys
sys.excepthook = lambda *a: print('ESC' + 'APED:')
atexit.register(lambda: print('ESC' + 'APED:'))
sys.settrace(lambda *a: None)
1 / 0
