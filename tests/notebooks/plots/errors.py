# figures: 2
"""Measured values: error bars, stems and steps, a stack of areas, and a style of its own."""
import matplotlib.pyplot as plt
import numpy as np

x = np.arange(1, 9)
y = np.sqrt(x)
with plt.style.context("ggplot"), plt.rc_context({"font.size": 9}):
    fig, (left, right) = plt.subplots(1, 2, sharey=True)
    left.errorbar(x, y, yerr=[0.1 * y, 0.2 * y], xerr=0.2, fmt="o", capsize=3, uplims=x == 4)
    right.stem(x, y)
    right.step(x, y, where="mid", linestyle=":")
    left.set(xlabel="x", ylabel="y", xlim=(0, 9), title="with errors")

years = list(range(2000, 2010))
parts = {"a": np.linspace(1, 3, 10), "b": np.linspace(2, 1, 10), "c": np.full(10, 0.5)}
fig, ax = plt.subplots()
ax.stackplot(years, parts.values(), labels=parts.keys(), alpha=0.8)
ax.legend(loc="upper left", ncols=3)
ax.axvspan(2003, 2005, color="grey", alpha=0.2)
ax.axhline(4, ls="--", lw=1)
plt.show()
