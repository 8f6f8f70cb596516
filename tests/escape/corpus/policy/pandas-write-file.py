# id: policy-pandas-write-file
# category: policy
# profile: strict
# threat: writes a file outside through an allowed library
# expect: refused error success
# limits: timeout=10 memory=512
import pandas as pd
df = pd.DataFrame({'a': [1]})
for f in (df.to_csv, df.to_pickle, df.to_json, df.to_html):
    try:
        f('@CANARY_DIR@/pwned')
        print('ESC' + 'APED:')
    except Exception as e:
        print(type(e).__name__)
