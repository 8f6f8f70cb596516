# id: policy-code-replacement
# category: policy
# profile: strict
# threat: replaces the code of a library function to change what others run
# expect: refused
import random
def f(self, x):
    print('ESC' + 'APED:')
random.Random.choice.__code__ = f.__code__
random.choice([1])
