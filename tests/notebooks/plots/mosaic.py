# figures: 1
"""A page of panels: a mosaic, two axes in one place, notes with arrows, filled areas, a table and formulas."""
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Circle, Ellipse
from matplotlib.ticker import FuncFormatter, MultipleLocator

t = np.linspace(0, 2 * np.pi, 200)
fig, panels = plt.subplot_mosaic([["wave", "wave"], ["shapes", "table"]], figsize=(8, 6))

wave = panels["wave"]
wave.plot(t, np.sin(t), color="tab:blue")
wave.fill_between(t, 0, np.sin(t), where=np.sin(t) > 0, alpha=0.3, interpolate=True)
wave.annotate("the top", xy=(np.pi / 2, 1), xytext=(3, 0.8), arrowprops={"arrowstyle": "->", "connectionstyle": "arc3,rad=.2"})
wave.xaxis.set_major_locator(MultipleLocator(np.pi / 2))
wave.xaxis.set_major_formatter(FuncFormatter(lambda x, at: rf"${x / np.pi:.1f}\pi$"))
other = wave.twinx()
other.semilogy(t, np.exp(t), "--", color="tab:red")
other.set_ylabel(r"$e^{t}$", color="tab:red")

shapes = panels["shapes"]
shapes.add_patch(Circle((0.3, 0.5), 0.2, facecolor="gold", edgecolor="black", hatch="//"))
shapes.add_patch(Ellipse((0.7, 0.5), 0.2, 0.5, angle=30, alpha=0.5))
shapes.text(0.5, 0.9, "äöü → Ω", ha="center", bbox={"boxstyle": "round", "fc": "white"})
shapes.set_aspect("equal")

panels["table"].axis("off")
panels["table"].table(cellText=[["1", "2"], ["3", "4"]], colLabels=["a", "b"], loc="center")
fig.suptitle(r"$\sum_{i=0}^\infty x_i$ and other panels")
plt.show()
