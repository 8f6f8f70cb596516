# id: policy-string-concat-import
# category: policy
# profile: strict
# threat: type(), object tricks and string building with no suspicious literal
# expect: refused error
s = lambda *a: ''.join(map(chr, a))
t = type('', (), {s(95, 95, 103, 101, 116, 97, 116, 116, 114, 95, 95): lambda self, n: n})
k = s(95, 95, 98, 117, 105, 108, 116, 105, 110, 115, 95, 95)
f = globals()[k]
f = f if isinstance(f, dict) else vars(f)
f[s(101, 118, 97, 108)](s(112, 114, 105, 110, 116) + "('ESC' + 'APED:')")
