# id: policy-numpy-pointer-write
# category: policy
# profile: strict
# threat: writes to any address of the interpreter through a pointer that an array hands out
# expect: refused error
# limits: timeout=10 memory=512
import numpy as np
a = np.zeros(4)
ct = np.ctypeslib.ctypes
p = a.ctypes.data_as(ct.POINTER(ct.c_ubyte))
b = b'constant'
p[id(b) + 32 - a.ctypes.data] = 67
if b[:1] == b'C':
    print('ESC' + 'APED: a constant was changed')
