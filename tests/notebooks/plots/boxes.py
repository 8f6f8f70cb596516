# figures: 1  charts: box
"""Boxes and violins of the same numbers."""
import matplotlib.pyplot as plt
import numpy as np

data = [np.random.default_rng(k).normal(k, 1 + k / 3, 120) for k in range(4)]
fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3), sharey=True)
left.boxplot(data, notch=True, showmeans=True)
left.set_xticks([1, 2, 3, 4], ["a", "b", "c", "d"])
right.violinplot(data, showmedians=True)
fig.suptitle("four samples")
fig.tight_layout()
plt.show()
