# id: benign-sympy-solve
# category: benign
# profile: strict
# threat: none: algebra, lambdify and printing
# expect: success
# require: [-1, 1]
# limits: timeout=30 memory=512
import sympy as sp
x = sp.Symbol('x')
print(sp.solve(x**2 - 1, x))
f = sp.lambdify(x, sp.sin(x) ** 2 + sp.cos(x) ** 2)
print(f(0.3), sp.integrate(sp.exp(-x), (x, 0, sp.oo)), sp.latex(sp.diff(x**3, x)))
