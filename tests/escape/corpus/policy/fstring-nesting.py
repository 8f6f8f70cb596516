# id: policy-fstring-nesting
# category: policy
# profile: strict
# threat: expressions nested in format strings
# expect: refused
print(f"{eval('1')!r:{exec(chr(112) + 'rint(chr(69) + chr(83))') or 5}}", f"{().__class__.__base__.__subclasses__()[:1]}")
print('ESC' + 'APED:')
