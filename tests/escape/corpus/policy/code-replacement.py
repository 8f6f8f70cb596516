# id: policy-code-replacement
# category: policy
# profile: strict
# threat: replaces the code of a library function to change what others run
# expect: refused
import random
def f(*a):
    print('ESC' + 'APED:')
random.Random.random.__code__ = f.__code__
random.Random.seed.__code__ = f.__code__.replace(co_name='seed')
