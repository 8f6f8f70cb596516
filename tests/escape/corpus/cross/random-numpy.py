# id: cross-random-numpy
# category: cross
# profile: strict
# threat: the same for NumPy's generators
# expect: success
# limits: memory=512 timeout=15
# runs: 2
# differ: stdout
import numpy as np
print(np.random.rand(3), np.random.randint(1 << 30))
