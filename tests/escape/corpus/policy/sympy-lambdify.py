# id: policy-sympy-lambdify
# category: policy
# profile: strict
# threat: lambdify pastes a string into the code it evaluates
# expect: refused error
# limits: timeout=15 memory=512
import sympy
f = sympy.lambdify('x', "__import__('os').system('echo ESC\"\"APED:') or print('ESC' + 'APED:')")
f(1)
