# figures: 1  charts: line
"""Two curves with a legend, a title with mathematics, and a grid."""
import matplotlib.pyplot as plt
import numpy as np

t = np.linspace(0, 4 * np.pi, 400)
fig, ax = plt.subplots(figsize=(6, 3))
ax.plot(t, np.sin(t), label="sine")
ax.plot(t, np.exp(-t / 6) * np.cos(2 * t), "--", label=r"$e^{-t/6}\cos 2t$")
ax.set(xlabel="time (s)", ylabel="amplitude", title=r"Damped and undamped, $\omega = 1, 2$")
ax.axhline(0, color="0.5", linewidth=0.8)
ax.grid(True, alpha=0.3)
ax.legend(loc="upper right")
plt.show()
