# figures: 1
"""A surface and a line in three dimensions."""
import matplotlib.pyplot as plt
import numpy as np

fig = plt.figure(figsize=(7, 3))
left = fig.add_subplot(1, 2, 1, projection="3d")
x, y = np.meshgrid(np.linspace(-3, 3, 30), np.linspace(-3, 3, 30))
left.plot_surface(x, y, np.sin(np.hypot(x, y)), cmap="coolwarm", linewidth=0)
left.view_init(30, 45)
right = fig.add_subplot(1, 2, 2, projection="3d")
t = np.linspace(0, 6 * np.pi, 200)
right.plot(np.cos(t), np.sin(t), t)
plt.show()
