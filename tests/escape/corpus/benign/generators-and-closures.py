# id: benign-generators-and-closures
# category: benign
# profile: strict
# threat: none: generators, closures, decorators, context managers
# expect: success
# require: 55
import contextlib
import functools
import itertools
@contextlib.contextmanager
def tag(name):
    yield name
def counted(f):
    @functools.wraps(f)
    def inner(*a, **k):
        inner.calls += 1
        return f(*a, **k)
    inner.calls = 0
    return inner
@counted
@functools.lru_cache(maxsize=None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
def gen():
    got = yield 1
    yield got
g = gen()
with tag('t') as t:
    print(fib(10), t, next(g), g.send(5), list(itertools.islice(itertools.count(), 3)), fib.calls, fib.__name__)
