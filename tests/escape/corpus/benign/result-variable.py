# id: benign-result-variable
# category: benign
# profile: strict
# threat: none: the result variable
# expect: success
import math
result = {'area': math.pi * 4, 'names': ['a', 'b'], 'ok': True, 'none': None}
