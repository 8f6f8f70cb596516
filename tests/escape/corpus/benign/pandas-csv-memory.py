# id: benign-pandas-csv-memory
# category: benign
# profile: strict
# threat: none: CSV and JSON in memory
# expect: success
# require: 3
# limits: timeout=20 memory=512
import pandas as pd
from io import StringIO
df = pd.read_csv(StringIO('a,b\n1,2\n3,4\n'))
print(df['a'].max(), df.to_csv(index=False), df.to_json(), df.describe().to_string())
