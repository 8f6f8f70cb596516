# %% Sales of a small shop
import io

import numpy as np
import pandas as pd

text = """day,shop,product,count,price
2024-01-05,north,tea,3,2.50
2024-01-05,south,coffee,1,3.00
2024-01-06,north,coffee,2,3.00
2024-01-08,south,tea,5,2.40
2024-01-08,north,cake,,4.75
2024-02-01,south,cake,2,4.75
2024-02-03,north,tea,4,2.50
"""
sales = pd.read_csv(io.StringIO(text), parse_dates=["day"])
sales

# %%
sales.dtypes

# %% What is missing
print(sales.isna().sum().to_dict())
sales["count"] = sales["count"].fillna(0).astype(int)
sales["total"] = sales["count"] * sales["price"]
sales.describe().loc[["mean", "max"], ["count", "total"]]

# %% Groups
by_product = sales.groupby("product")["total"].agg(["sum", "mean", "size"]).sort_values("sum", ascending=False)
by_product

# %% A pivot
sales.pivot_table(index="product", columns="shop", values="total", aggfunc="sum", fill_value=0)

# %% Months
monthly = sales.set_index("day").resample("M")["total"].sum()
print(monthly.index.strftime("%Y-%m").tolist())
monthly

# %% Joining
names = pd.DataFrame({"shop": ["north", "south", "west"], "boss": ["Ann", "Bob", "Cem"]})
joined = sales.merge(names, on="shop", how="right", indicator=True)
joined["_merge"].value_counts().to_dict()

# %% Texts
sales["product"].str.upper().str.cat(sales["shop"], sep="@").tolist()

# %% Categories and cuts
sales["size"] = pd.cut(sales["total"], [-1, 5, 10, np.inf], labels=["small", "medium", "large"])
sales["size"].value_counts().sort_index()

# %% Windows
sales["total"].rolling(3, min_periods=1).mean().round(3).tolist()

# %% Query and assign
(sales.query("shop == 'north' and total > 5").assign(tax=lambda t: (t["total"] * 0.19).round(2))[["product", "tax"]])

# %% Long and wide
wide = sales.pivot_table(index="day", columns="product", values="count", aggfunc="sum")
long = wide.reset_index().melt(id_vars="day", value_name="count").dropna()
len(long), long["count"].sum()

# %% A function of an earlier cell's table
def best(table, n):
    return table.nlargest(n, "total")[["day", "product", "total"]].reset_index(drop=True)


best(sales, 2)

# %% Out and in again
sales.to_csv("sales.csv", index=False)
again = pd.read_csv("sales.csv", parse_dates=["day"])
pd.testing.assert_frame_equal(again.drop(columns="size"), sales.drop(columns="size"), check_dtype=False)
sales.to_json(orient="records", date_format="iso")[:60]

# %% A time series
index = pd.date_range("2024-01-01", periods=48, freq="H")
load = pd.Series(np.sin(np.arange(48) / 24 * 2 * np.pi), index=index)
load.resample("D").agg(["min", "max"]).round(3)

# %% An index of several levels
stacked = sales.set_index(["shop", "product"]).sort_index()["total"]
print(stacked.loc["north"].groupby(level=0).sum().to_dict())
stacked.unstack(fill_value=0).shape if not stacked.index.duplicated().any() else "duplicates"

# %% apply, map, and an error that is caught
try:
    sales["nowhere"]
except KeyError as error:
    print("no column", error)
sales["product"].map({"tea": "T", "coffee": "C"}).fillna("-").tolist()
