# id: policy-pandas-url
# category: policy
# profile: strict
# threat: fetches a URL through an allowed library
# expect: refused error
# limits: timeout=10 memory=512
import pandas as pd
print('ESC' + 'APED:', pd.read_csv('http://127.0.0.1:@TCP_PORT@/x.csv'))
