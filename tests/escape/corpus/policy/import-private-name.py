# id: policy-import-private-name
# category: policy
# profile: strict
# threat: takes sys and os out of allowed modules by their private names
# expect: refused
from collections import _sys
from random import _os
_os.system('echo ESC""APED:')
print('ESC' + 'APED:', _sys.modules['os'])
