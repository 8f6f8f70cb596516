# id: policy-builtin-with-statement
# category: policy
# profile: strict
# threat: makes a with statement and an iteration call a blocked builtin
# expect: refused
import contextlib
with contextlib.ExitStack() as stack:
    stack.callback(eval, "print('ESC' + 'APED:')")
for _ in iter(lambda: eval("print('ESC' + 'APED:')"), None):
    break
