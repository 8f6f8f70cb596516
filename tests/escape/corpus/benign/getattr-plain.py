# id: benign-getattr-plain
# category: benign
# profile: strict
# threat: none: getattr, setattr and vars on ordinary names
# expect: success
# require: 7 True
class A:
    x = 7
a = A()
setattr(a, 'y', 1)
print(getattr(a, 'x'), hasattr(a, 'y'), getattr(a, 'z', None), isinstance(a, A), callable(print), sorted(n for n in dir(a) if not n.startswith('_')))
