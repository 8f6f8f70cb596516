# id: policy-timeit-string
# category: policy
# profile: strict
# threat: modules whose job is to run strings
# expect: refused error
import timeit
timeit.timeit("print('ESC' + 'APED:', eval('1'))", number=1)
