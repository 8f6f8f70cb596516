# id: resource-output-huge-traceback
# category: resource
# profile: strict
# threat: an exception whose message and traceback are enormous
# expect: error memory_exceeded
# limits: timeout=10 memory=512
def f(n):
    if n:
        f(n - 1)
    raise ValueError('x' * (20 << 20))
f(900)
