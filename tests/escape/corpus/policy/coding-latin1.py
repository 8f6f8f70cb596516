# coding: latin-1
# id: policy-coding-latin1
# category: policy
# profile: strict
# threat: a harmless other encoding is refused as well, so that there is only one reading of the bytes
# expect: refused
print('ESC' + 'APED:')
