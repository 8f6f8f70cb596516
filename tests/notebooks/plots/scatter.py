# figures: 1  charts: scatter
"""Points with sizes and colours, and a colour bar."""
import matplotlib.pyplot as plt
import numpy as np

rng = np.random.default_rng(11)
x, y = rng.normal(size=(2, 80))
fig, ax = plt.subplots()
points = ax.scatter(x, y, c=np.hypot(x, y), s=30 + 200 * rng.random(80), alpha=0.6, cmap="viridis", edgecolors="k")
fig.colorbar(points, ax=ax, label="distance")
ax.set_aspect("equal")
plt.show()
