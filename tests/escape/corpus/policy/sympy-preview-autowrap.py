# id: policy-sympy-preview-autowrap
# category: policy
# profile: strict
# threat: sympy starts compilers and viewers
# expect: refused error success
# limits: timeout=15 memory=512
import sympy
from sympy.utilities.autowrap import autowrap
x = sympy.Symbol('x')
for f in (lambda: autowrap(x + 1), lambda: sympy.preview(x, viewer='file', filename='@CANARY_DIR@/pwned.png')):
    try:
        f()
        print('ESC' + 'APED:')
    except Exception as e:
        print(type(e).__name__)
