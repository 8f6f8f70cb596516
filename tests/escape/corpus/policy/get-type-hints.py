# id: policy-get-type-hints
# category: policy
# profile: strict
# threat: annotations as strings are evaluated by typing
# expect: refused error
import typing
class A:
    x: "print('ESC' + 'APED:')"
typing.get_type_hints(A)
typing.ForwardRef("print('ESC' + 'APED:')")._evaluate({}, {}, frozenset())
