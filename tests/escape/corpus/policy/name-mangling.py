# id: policy-name-mangling
# category: policy
# profile: strict
# threat: private name mangling changes the attribute that is really read
# expect: refused error
class _globals:
    pass
class A:
    def f(self):
        return self.__class
    def __init__(self):
        self.__x = 1
try:
    print(A().f())
except AttributeError as e:
    print('ESC' + 'APED:', e.obj.__init__.__globals__)
