# id: policy-dataclass-injection
# category: policy
# profile: strict
# threat: strings pasted into the code that dataclasses and namedtuple generate
# expect: refused error success
import dataclasses
import collections
for f in (
    lambda: dataclasses.make_dataclass('X', [("a=print('ESC' + 'APED:')", int)]),
    lambda: dataclasses.make_dataclass('X', [('a', "print('ESC' + 'APED:')")], namespace={'__annotations__': {}}),
    lambda: collections.namedtuple("X(print('ESC' + 'APED:'))", 'a'),
    lambda: collections.namedtuple('X', ["a=print('ESC' + 'APED:')"]),
):
    try:
        f()
    except Exception as e:
        print(type(e).__name__)
