# id: policy-getattr-alias
# category: policy
# profile: strict
# threat: renames getattr before using it
# expect: refused error
g = getattr
n = ''.join(chr(c + 1) for c in b'^^fkna`kr^^')
d = g(lambda: 0, n)
print('ESC' + 'APED:', d['__built' + 'ins__'])
