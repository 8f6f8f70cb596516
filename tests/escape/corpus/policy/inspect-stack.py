# id: policy-inspect-stack
# category: policy
# profile: strict
# threat: asks inspect and traceback for the stack
# expect: refused error
import inspect
import traceback
print('ESC' + 'APED:', inspect.stack()[-1].frame.f_globals, inspect.currentframe().f_builtins)
