# id: policy-numpy-ctypeslib
# category: policy
# profile: strict
# threat: loads the C library through numpy
# expect: refused error
# limits: timeout=10 memory=512
import numpy as np
libc = np.ctypeslib.ctypes.CDLL(None)
libc.system(b'echo ESC""APED:')
print('ESC' + 'APED:', np.ctypeslib.load_library('libc.so.6', '/lib/x86_64-linux-gnu'))
