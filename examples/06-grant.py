# Works on a directory of the host that was granted for reading, and finds that reading is all it may do.
import os

import pandas as pd

folder = os.environ["DATA"]
orders = pd.read_csv(f"{folder}/orders.csv")
print(orders.groupby("customer").total.sum())

try:
    orders.to_csv(f"{folder}/orders.csv")
except OSError as refusal:
    print("writing it back:", refusal.strerror)
