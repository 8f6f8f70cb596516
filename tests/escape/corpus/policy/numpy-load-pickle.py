# id: policy-numpy-load-pickle
# category: policy
# profile: strict
# threat: numpy.load unpickles a call
# expect: refused error
# limits: timeout=10 memory=512
import numpy as np
from io import BytesIO
head = b"\x93NUMPY\x01\x00" 
desc = b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"
desc = desc + b' ' * (118 - len(desc) - 1) + b'\n'
body = b"c__builtin__\neval\n(S'print(\"ESC\" + \"APED:\")'\ntR."
f = BytesIO(head + bytes([len(desc), 0]) + desc + body)
np.load(f, allow_pickle=True)
