# id: policy-format-field
# category: policy
# profile: strict
# threat: reads internals through a format field path
# expect: refused error
class A:
    def f(self):
        pass
t = '{0.f.__glo' + 'bals__}'
print(t.format(A()), 'ESC' + 'APED:')
