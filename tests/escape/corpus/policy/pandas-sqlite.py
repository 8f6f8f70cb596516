# id: policy-pandas-sqlite
# category: policy
# profile: strict
# threat: opens a database file and an extension through an allowed library
# expect: refused error
# limits: timeout=10 memory=512
import pandas as pd
pd.DataFrame({'a': [1]}).to_sql('t', 'sqlite:///@CANARY_DIR@/x.db')
print('ESC' + 'APED:')
