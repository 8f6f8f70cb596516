# %% Points around a line
import numpy as np
from scipy import optimize, stats
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split

rng = np.random.default_rng(3)
x = rng.uniform(0, 10, size=200)
y = 3.0 * x + 1.5 + rng.normal(scale=0.5, size=200)

# %% A fit
train_x, test_x, train_y, test_y = train_test_split(x[:, None], y, random_state=0)
model = LinearRegression().fit(train_x, train_y)
round(float(model.coef_[0]), 1), round(float(model.intercept_)), model.score(test_x, test_y) > 0.99

# %% The same by other ways
slope = stats.linregress(x, y).slope
popt, _ = optimize.curve_fit(lambda t, a, b: a * t + b, x, y)
np.isclose(slope, popt[0])

# %% A test
a, b = rng.normal(0, 1, 300), rng.normal(0.5, 1, 300)
stats.ttest_ind(a, b).pvalue < 0.001

# %% Clusters
from sklearn.cluster import KMeans

points = np.concatenate([rng.normal(c, 0.2, size=(50, 2)) for c in ((0, 0), (3, 3), (0, 4))])
labels = KMeans(n_clusters=3, n_init=10, random_state=1).fit_predict(points)
sorted(np.bincount(labels).tolist())

# %% Algebra
import sympy

t = sympy.symbols("t")
sympy.integrate(sympy.sin(t) ** 2, (t, 0, sympy.pi))

# %%
sympy.factor(t**4 - 1)

# %% Graphs
import networkx as nx

graph = nx.Graph([("a", "b"), ("b", "c"), ("c", "d"), ("a", "d"), ("d", "e")])
print(nx.shortest_path(graph, "a", "e"), nx.number_connected_components(graph))
sorted(dict(graph.degree()).items())

# %% A root
round(optimize.brentq(lambda v: v**3 - 2, 0, 2), 9)
