# figures: 1  charts: box
"""Boxes and violins of the same numbers."""
import matplotlib.pyplot as plt
import numpy as np

data = [np.random.default_rng(k).normal(k, 1 + k / 3, 120) for k in range(4)]
fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3), sharey=True)
left.boxplot(data, labels=["a", "b", "c", "d"], notch=True, showmeans=True)
right.violinplot(data, showmedians=True)
fig.suptitle("four samples")
fig.tight_layout()
plt.show()
