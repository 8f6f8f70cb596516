# id: control-stack-overflow
# category: control
# profile: open
# threat: overflows the native stack
# expect: error
# limits: timeout=10
import sys
sys.setrecursionlimit(1 << 30)
class A:
    def __getattr__(self, n):
        return getattr(self, n)
f = lambda o: [f(o)]
try:
    A().x
except BaseException as e:
    pass
import ctypes
def g():
    return ctypes.pythonapi and list(map(lambda x: g(), [1]))
g()
