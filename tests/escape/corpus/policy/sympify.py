# id: policy-sympify
# category: policy
# profile: strict
# threat: sympy evaluates a string as Python
# expect: refused error
# limits: timeout=15 memory=512
import sympy
sympy.sympify("__import__('os').system('echo ESC\"\"APED:') or print('ESC' + 'APED:')")
