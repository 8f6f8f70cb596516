# id: policy-walrus-and-unpack
# category: policy
# profile: strict
# threat: a blocked builtin bound by every form of assignment
# expect: refused
(e := eval)("print('ESC' + 'APED:')")
a, *b = [exec]
for f in [compile]:
    pass
with __import__('contextlib').nullcontext(open) as o:
    pass
