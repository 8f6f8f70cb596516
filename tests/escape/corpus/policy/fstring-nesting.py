# id: policy-fstring-nesting
# category: policy
# profile: strict
# threat: expressions nested in format strings
# expect: refused
print(f"{eval('1')!r:{exec('print(1)')}}", f"{().__class__}")
print('ESC' + 'APED:')
