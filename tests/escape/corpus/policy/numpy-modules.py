# id: policy-numpy-modules
# category: policy
# profile: strict
# threat: reaches os through attributes of numpy, pandas and matplotlib
# expect: refused error
# limits: timeout=10 memory=512
import numpy as np
import pandas as pd
import matplotlib
roads = [
    lambda: np.lib.npyio.os,
    lambda: np.lib._datasource.os,
    lambda: np.core.os,
    lambda: np.compat.py3k.os,
    lambda: np.testing._private.utils.os,
    lambda: pd.io.common.os,
    lambda: pd.compat.os,
    lambda: matplotlib.os,
    lambda: matplotlib.cbook.os,
    lambda: matplotlib.subprocess.os,
]
for road in roads:
    try:
        print('ESC' + 'APED:', road().listdir('/'))
    except Exception as e:
        print(type(e).__name__)
