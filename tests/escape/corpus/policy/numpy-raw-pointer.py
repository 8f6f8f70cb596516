# id: policy-numpy-raw-pointer
# category: policy
# profile: strict
# threat: builds an array over any address with __array_interface__
# expect: refused error
# limits: timeout=10 memory=512
import numpy as np
class P:
    __array_interface__ = {'shape': (8,), 'typestr': '|u1', 'data': (id(None), False), 'version': 3}
a = np.asarray(P())
print('ESC' + 'APED:', a)
