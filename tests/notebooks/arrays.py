# %% A walk through arrays, as a notebook would take it.
import numpy as np

rng = np.random.default_rng(7)
a = np.arange(24).reshape(4, 6)
a

# %%
print(a.shape, a.dtype, a.ndim, a.size)
print(a[1:3, ::2])
a[:, -1]

# %% Masks and fancy indices
b = a.copy()
b[b % 3 == 0] = -1
print(b)
rows = np.array([0, 2, 3])
b[rows[:, None], [1, 5]]

# %% Broadcasting
x = np.linspace(0, 1, 5)
y = np.linspace(0, 2, 3)[:, np.newaxis]
z = np.sin(np.pi * x) * np.exp(-y)
np.round(z, 6)

# %% Linear algebra
m = rng.normal(size=(5, 5))
m = m @ m.T + 5 * np.eye(5)
values, vectors = np.linalg.eigh(m)
assert np.allclose(vectors @ np.diag(values) @ vectors.T, m)
print(np.round(np.linalg.det(m) / values.prod(), 9))
np.round(np.linalg.solve(m, np.ones(5)) @ m, 9)

# %% Statistics of random numbers with a seed
sample = rng.normal(loc=10, scale=2, size=100_000)
print(abs(sample.mean() - 10) < 0.05, abs(sample.std() - 2) < 0.05)
counts, edges = np.histogram(sample, bins=5)
counts.sum(), edges.shape

# %% A function that later cells use
def moving_average(values, width):
    kernel = np.ones(width) / width
    return np.convolve(values, kernel, mode="valid")


moving_average(np.arange(10.0), 3)

# %% Structured arrays and dates
people = np.array([("ann", 31, 1.70), ("bob", 25, 1.82)], dtype=[("name", "U8"), ("age", "i4"), ("height", "f8")])
print(people["name"], people[people["age"] > 30]["height"])
days = np.arange("2024-02-26", "2024-03-04", dtype="datetime64[D]")
days[np.is_busday(days)]

# %% In and out of files
np.savez("arrays.npz", a=a, z=z)
with np.load("arrays.npz") as stored:
    print(sorted(stored.files), np.array_equal(stored["a"], a))
np.savetxt("a.csv", a, fmt="%d", delimiter=",")
open("a.csv").readline()

# %% Mistakes are mistakes
try:
    a @ a
except ValueError as error:
    print(type(error).__name__, "matmul" in str(error))

# %% FFT
t = np.arange(256) / 256
signal = np.sin(2 * np.pi * 12 * t) + 0.5 * np.sin(2 * np.pi * 40 * t)
spectrum = np.abs(np.fft.rfft(signal))
sorted(np.argsort(spectrum)[-2:].tolist())

# %% Memory is shared between views, not between copies
view = a[::2]
view[0, 0] = 99
a[0, 0], np.shares_memory(a, view), np.shares_memory(a, b)
