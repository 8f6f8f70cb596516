# id: policy-patch-allowed-module
# category: policy
# profile: strict
# threat: replaces a function of an allowed module that the runner may call later
# expect: refused
import json
import builtins
json.dumps = lambda *a, **k: 'patched'
json.JSONEncoder.encode = lambda *a, **k: 'patched'
builtins.repr = lambda *a: 'patched'
result = {'a': 1}
