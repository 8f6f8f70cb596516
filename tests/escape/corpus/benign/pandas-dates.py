# id: benign-pandas-dates
# category: benign
# profile: strict
# threat: none: dates, resampling, time zones
# expect: success
# require: 2024-02-29
# limits: timeout=20 memory=512
import pandas as pd
s = pd.Series(range(60), index=pd.date_range('2024-01-01', periods=60, tz='Europe/Berlin'))
print(s.resample('M').sum().index[1].date(), s.rolling(7).mean().iloc[-1])
