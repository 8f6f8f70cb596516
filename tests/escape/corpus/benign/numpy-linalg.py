# id: benign-numpy-linalg
# category: benign
# profile: strict
# threat: none: linear algebra and random numbers
# expect: success
# require: -2.0
# limits: timeout=20 memory=512
import numpy as np
a = np.array([[1, 2], [3, 4]], dtype=float)
print(round(np.linalg.det(a), 6), np.linalg.eigvals(a), np.fft.fft([1, 2, 3]))
rng = np.random.default_rng(7)
print(rng.normal(size=3).shape, np.einsum('ij,jk', a, a).tolist())
