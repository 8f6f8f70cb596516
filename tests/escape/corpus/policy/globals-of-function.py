# id: policy-globals-of-function
# category: policy
# profile: strict
# threat: reads the globals and builtins of a library function
# expect: refused
import random
print('ESC' + 'APED:', random.Random.seed.__globals__['_os'].listdir('/'))
print('ESC' + 'APED:', random.choice.__func__.__builtins__['open']('/etc/passwd').read())
