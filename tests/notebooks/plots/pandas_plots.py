# figures: 2
"""What pandas draws, and a matrix of scatter plots."""
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

rng = np.random.default_rng(5)
table = pd.DataFrame(rng.normal(size=(60, 3)).cumsum(axis=0), columns=list("abc"), index=pd.date_range("2024", periods=60))
fig, axes = plt.subplots(2, 2, figsize=(8, 5))
table.plot(ax=axes[0, 0])
table.diff().hist(column="a", ax=axes[0, 1], bins=12)
table.resample("W").last().plot.bar(ax=axes[1, 0], stacked=True, legend=False)
table.plot.scatter("a", "b", c="c", ax=axes[1, 1], colormap="plasma")
plt.show()
pd.plotting.scatter_matrix(table, diagonal="kde", figsize=(4, 4))
plt.show()
