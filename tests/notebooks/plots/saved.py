# figures: 1
"""Saved in every form, drawn with patches and a custom class, animated to a file."""
import io
import os

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation, PillowWriter
from matplotlib.patches import Circle, FancyArrowPatch, Polygon, Rectangle

fig, ax = plt.subplots()
for patch in (Circle((0.2, 0.2), 0.1), Rectangle((0.4, 0.1), 0.2, 0.3, angle=20), Polygon([(0.7, 0.1), (0.9, 0.1), (0.8, 0.4)])):
    ax.add_patch(patch)
ax.add_patch(FancyArrowPatch((0.1, 0.9), (0.9, 0.6), connectionstyle="arc3,rad=.3", arrowstyle="->", mutation_scale=20))
for kind in ("png", "svg", "pdf", "ps", "jpg"):
    fig.savefig(f"picture.{kind}")
    assert os.path.getsize(f"picture.{kind}") > 1000, kind
buffer = io.BytesIO()
fig.savefig(buffer, dpi=50, bbox_inches="tight", transparent=True)
assert buffer.getvalue().startswith(b"\x89PNG")

moving, canvas = plt.subplots(figsize=(2, 2))
(line,) = canvas.plot([], [])
canvas.set(xlim=(0, 1), ylim=(0, 1))


def frame(k):
    line.set_data([0, np.cos(k / 4)], [0, np.sin(k / 4)])
    return (line,)


FuncAnimation(moving, frame, frames=6, blit=True).save("moving.gif", writer=PillowWriter(fps=10))
assert open("moving.gif", "rb").read(4) == b"GIF8"
plt.close(moving)
