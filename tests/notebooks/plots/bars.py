# figures: 2  charts: bar bar
"""Grouped and stacked bars; the second is horizontal and left open instead of shown."""
import matplotlib.pyplot as plt
import numpy as np

names = ["ash", "beech", "cedar", "oak"]
first, second = np.array([4, 7, 2, 9]), np.array([5, 3, 6, 4])
at = np.arange(len(names))

fig, ax = plt.subplots()
left = ax.bar(at - 0.2, first, 0.4, label="2023", yerr=0.5, capsize=3)
ax.bar(at + 0.2, second, 0.4, label="2024")
ax.bar_label(left, padding=3)
ax.set_xticks(at, names)
ax.legend()
plt.show()

fig, ax = plt.subplots()
ax.barh(names, first, label="2023")
ax.barh(names, second, left=first, hatch="//", label="2024")
ax.invert_yaxis()
ax.legend()
