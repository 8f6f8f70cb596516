# id: policy-numpy-array-ctypes
# category: policy
# profile: strict
# threat: writes to the interpreter's memory through an array's ctypes view
# expect: refused error
# limits: timeout=10 memory=512
import numpy as np
a = np.zeros(4)
c = a.ctypes
p = c.data_as(np.ctypeslib.ctypes.POINTER(np.ctypeslib.ctypes.c_long))
print('ESC' + 'APED:', p[100000])
