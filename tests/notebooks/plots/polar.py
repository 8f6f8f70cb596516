# figures: 1
"""Polar axes, a filled area between curves, error bars, a histogram, steps: one figure of many kinds."""
import matplotlib.pyplot as plt
import numpy as np

fig = plt.figure(figsize=(9, 6))
rose = fig.add_subplot(231, projection="polar")
theta = np.linspace(0, 2 * np.pi, 300)
rose.plot(theta, np.abs(np.cos(3 * theta)))
rose.set_rticks([0.5, 1])
area = fig.add_subplot(232)
x = np.linspace(0, 3, 100)
area.fill_between(x, x**2, x**3 / 2, where=x**2 > x**3 / 2, alpha=0.4, color="tab:green")
area.annotate("here", xy=(2, 4), xytext=(0.5, 7), arrowprops={"arrowstyle": "->"})
errors = fig.add_subplot(233)
errors.errorbar([1, 2, 3], [2, 4, 3], yerr=[0.3, 0.6, 0.2], xerr=0.1, fmt="o")
errors.set_xscale("log")
hist = fig.add_subplot(234)
hist.hist(np.random.default_rng(0).normal(size=1000), bins=30, density=True, histtype="stepfilled")
steps = fig.add_subplot(235)
steps.step(range(6), [1, 3, 2, 5, 4, 4], where="mid")
steps.stem(range(6), [0.5] * 6)
stack = fig.add_subplot(236)
stack.stackplot(range(5), [1, 2, 1, 3, 2], [2, 1, 2, 1, 1], labels=["a", "b"])
stack.legend(loc="upper left")
fig.tight_layout()
plt.show()
