# id: policy-reduce-getattr
# category: policy
# profile: strict
# threat: folds getattr over a path
# expect: refused error
from functools import reduce
path = ['__cla' + 'ss__', '__ba' + 'se__', '__subcl' + 'asses__']
subs = reduce(getattr, path, ())()
print('ESC' + 'APED:', len(subs))
