# figures: 2
"""Contours, an image with a colour bar, arrows and streams of a field."""
import matplotlib.pyplot as plt
import numpy as np
from matplotlib import colors

y, x = np.mgrid[-2:2:60j, -2:2:80j]
z = np.exp(-(x**2) - y**2) - np.exp(-((x - 1) ** 2) - (y - 1) ** 2)
fig, axes = plt.subplots(2, 2, figsize=(8, 6), layout="constrained")
axes[0, 0].contour(x, y, z, levels=8, colors="k", linewidths=0.5)
filled = axes[0, 0].contourf(x, y, z, levels=8, cmap="RdBu")
fig.colorbar(filled, ax=axes[0, 0])
axes[0, 1].imshow(z, extent=(-2, 2, -2, 2), origin="lower", interpolation="bilinear")
axes[1, 0].pcolormesh(x, y, np.abs(z) + 1e-3, norm=colors.LogNorm(), shading="auto")
axes[1, 1].streamplot(x, y, -y, x, density=0.6)
plt.show()

fig, ax = plt.subplots()
ax.quiver(x[::6, ::8], y[::6, ::8], -y[::6, ::8], x[::6, ::8])
ax.margins(0.1)
plt.show()
