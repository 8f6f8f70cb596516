# id: policy-super-and-property
# category: policy
# profile: strict
# threat: reaches attributes with super objects, properties and descriptors
# expect: refused error
class A:
    @property
    def p(self):
        return super
s = A().p(A, A())
d = s.__self_class__.__dict__
print('ESC' + 'APED:', d, property.fget.__get__(A.__dict__['p']).__globals__)
