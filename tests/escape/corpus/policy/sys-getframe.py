# id: policy-sys-getframe
# category: policy
# profile: strict
# threat: asks for frames by function
# expect: refused error
import collections
f = collections._sys._getframe(0)
print('ESC' + 'APED:', f.f_back)
