# id: benign-pandas-query-groupby
# category: benign
# profile: strict
# threat: none: queries, groups, joins, string methods
# expect: success
# require: 30
# limits: timeout=20 memory=512
import pandas as pd
df = pd.DataFrame({'k': list('aabb'), 'v': [1, 2, 10, 20]})
limit = 5
print(df.query('v > @limit')['v'].sum(), df.eval('v * 2').sum())
print(df.groupby('k').agg({'v': ['sum', 'mean']}))
print(df.merge(df, on='k').pivot_table(index='k', values='v_x').to_string(), df.k.str.upper().tolist())
