# id: policy-numpy-f2py
# category: policy
# profile: strict
# threat: starts a compiler through numpy
# expect: refused error
# limits: timeout=10 memory=512
import numpy.f2py
print(numpy.f2py.compile(b'      end', modulename='x'))
print('ESC' + 'APED:')
