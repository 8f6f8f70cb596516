# id: control-result-proxy
# category: control
# profile: strict
# threat: a result whose class and conversion pretend to be plain data
# expect: success
class D(dict):
    def items(self):
        while True:
            yield 'x', 1
    def __iter__(self):
        while True:
            yield 'x'
    def __len__(self):
        return 1 << 60
class I(int):
    def __repr__(self):
        return '1, "status": "refused"'
class S(str):
    def encode(self, *a):
        return 0
    def __len__(self):
        return -1
result = {'d': D(a=1), 'i': I(5), 's': S('x')}
