# id: benign-pandas-mean
# category: benign
# profile: strict
# threat: none: a data frame
# expect: success
# require: 6.0 (5, 2)
# limits: timeout=20 memory=512
import pandas as pd
df = pd.DataFrame({'x': [1, 2, 3, 4, 5], 'y': [2, 4, 6, 8, 10]})
print(df['y'].mean(), df.shape)
