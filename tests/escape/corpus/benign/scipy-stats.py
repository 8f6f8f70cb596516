# id: benign-scipy-stats
# category: benign
# profile: strict
# threat: none: statistics, optimisation, integration
# expect: success
# require: True
# limits: timeout=30 memory=512
from scipy import integrate, optimize, stats
import numpy as np
print(stats.ttest_ind([1, 2, 3], [2, 3, 4]).pvalue < 1, optimize.minimize(lambda v: (v[0] - 2) ** 2, [0]).success)
print(round(integrate.quad(np.sin, 0, np.pi)[0], 6))
