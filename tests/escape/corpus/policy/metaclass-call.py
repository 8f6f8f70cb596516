# id: policy-metaclass-call
# category: policy
# profile: strict
# threat: calls through metaclass hooks and descriptors that no call node shows
# expect: refused error
class M(type):
    __getitem__ = lambda cls, k: getattr(cls, k)
class A(metaclass=M):
    pass
print('ESC' + 'APED:', A['__ba' + 'se__'], A['__subcl' + 'asses__']())
