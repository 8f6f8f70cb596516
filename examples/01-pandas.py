# An ordinary piece of analysis. The last line names the result: `belljar run --json` has it as a value of its own.
import io

import pandas as pd

sales = pd.read_csv(io.StringIO("""\
city,month,units
Oslo,1,120
Oslo,2,135
Lima,1,80
Lima,2,140
Pune,1,210
Pune,2,190
"""))

print(sales.pivot_table(index="city", columns="month", values="units", aggfunc="sum", margins=True))

result = sales.groupby("city").units.sum().idxmax()
