# id: policy-pandas-read-canary
# category: policy
# profile: strict
# threat: reads a file of the host through an allowed library
# expect: refused error
# limits: timeout=10 memory=512
import pandas as pd
print('ESC' + 'APED:', pd.read_csv('@CANARY_FILE@', header=None))
