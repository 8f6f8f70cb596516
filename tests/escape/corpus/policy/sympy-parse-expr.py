# id: policy-sympy-parse-expr
# category: policy
# profile: strict
# threat: sympy's parser with globals of ours, and a dunder walk inside the string
# expect: refused error success
# limits: timeout=15 memory=512
from sympy.parsing.sympy_parser import parse_expr
for t in ("().__class__.__base__.__subclasses__()", "__builtins__['open']('/etc/passwd').read()",
          "__import__('os').listdir('/')"):
    try:
        print('ESC' + 'APED:', parse_expr(t, evaluate=False))
    except Exception as e:
        print(type(e).__name__)
