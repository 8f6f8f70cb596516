# id: policy-generator-code
# category: policy
# profile: strict
# threat: rewrites the constants of a generator's code
# expect: refused
g = (x for x in [1])
c = g.gi_code.replace(co_consts=("print('ESC' + 'APED:')",))
print('ESC' + 'APED:', c, g.gi_yieldfrom)
