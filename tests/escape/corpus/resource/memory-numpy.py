# id: resource-memory-numpy
# category: resource
# profile: strict
# threat: an array, touched page by page
# expect: memory_exceeded
# limits: memory=256 timeout=20
import numpy as np
a = np.ones((1000, 1 << 17))
print('ESC' + 'APED:', a.nbytes)
