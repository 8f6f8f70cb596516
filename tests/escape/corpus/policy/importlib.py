# id: policy-importlib
# category: policy
# profile: strict
# threat: imports by a string through importlib
# expect: refused error
import importlib
importlib.import_module('sub' + 'process').run(['/bin/echo', 'ESC' + 'APED:'])
