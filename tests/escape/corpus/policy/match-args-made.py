# id: policy-match-args-made
# category: policy
# profile: standard
# threat: makes a class pattern read refused attributes through __match_args__ that are made at run time
# expect: refused error
class Meta(type):
    def __instancecheck__(cls, other):
        return True
class Answers(Meta):
    def __getattr__(cls, name):
        return ("__self__",)
def first(cls, name):
    return ("__self__",)
def kinds():
    yield lambda: Meta("A", (), {"__match_args__": ("__self__",)})
    yield lambda: Answers("A", (), {})
    yield lambda: type("M", (Meta,), {"__getattri" + "bute__": first})("A", (), {})
for make in kinds():
    try:
        A = make()
        match print:
            case A(module):
                print('ESC' + 'APED:', module)
    except Exception as e:
        print(type(e).__name__, e)
raise SystemExit(1)
