# id: policy-pandas-read-file
# category: policy
# profile: strict
# threat: reads files of the system through an allowed library
# expect: refused error
# limits: timeout=10 memory=512
import pandas as pd
print('ESC' + 'APED:', pd.read_csv('/etc/passwd', sep=':', header=None))
