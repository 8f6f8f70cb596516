# id: cross-strict-patched
# category: cross
# profile: strict
# threat: state left in an allowed module by an earlier run
# expect: success error refused
# runs: 2
import json
import random
if hasattr(json, 'bjleft') or getattr(random, 'bjleft', None):
    print('ESC' + 'APED:')
json.bjleft = 1
random.bjleft = 1
