# id: policy-match-args
# category: policy
# profile: strict
# threat: makes a class pattern read dunders through __match_args__
# expect: refused error
class M:
    __match_args__ = ('__globals__',)
    def __instancecheck__(self, other):
        return True
class Meta(type):
    def __instancecheck__(cls, other):
        return True
class P(metaclass=Meta):
    __match_args__ = ('__glo' + 'bals__',)
match lambda: 0:
    case P(g):
        b = g['__built' + 'ins__']
        f = b['ev' + 'al'] if isinstance(b, dict) else b.eval
        f("print('ESC' + 'APED:')")
