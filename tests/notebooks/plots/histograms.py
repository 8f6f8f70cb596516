# figures: 2
"""Distributions: side by side, cumulative, in two dimensions, as a violin."""
import matplotlib.pyplot as plt
import numpy as np

rng = np.random.default_rng(19680801)
groups = [rng.normal(size, 1 + size / 5, 400) for size in range(3)]

fig, axes = plt.subplots(2, 2, figsize=(7, 5), layout="constrained")
axes[0, 0].hist(groups, bins=15, density=True, histtype="bar", label=["low", "middle", "high"])
axes[0, 0].legend(prop={"size": 8})
counts, edges, patches = axes[0, 1].hist(groups[0], bins=20, cumulative=True, histtype="step")
assert counts[-1] == 400 and len(edges) == 21
axes[1, 0].violinplot(groups, showmedians=True)
axes[1, 1].ecdf(groups[1]) if hasattr(axes[1, 1], "ecdf") else axes[1, 1].plot(np.sort(groups[1]), np.linspace(0, 1, 400))
for ax, title in zip(axes.flat, ["bars", "cumulative", "violins", "steps"]):
    ax.set_title(title)

fig2, ax = plt.subplots()
*_, image = ax.hist2d(groups[0], groups[2], bins=(20, 30), cmap="magma")
fig2.colorbar(image, ax=ax, label="how many")
plt.show()
