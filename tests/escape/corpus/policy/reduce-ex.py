# id: policy-reduce-ex
# category: policy
# profile: strict
# threat: gets a reconstructor function out of an object's own pickle protocol
# expect: refused
import copy
f, args = (1).__reduce_ex__(2)[:2]
print('ESC' + 'APED:', f.__globals__)
