# id: policy-get-type-hints
# category: policy
# profile: strict
# threat: annotations as strings are evaluated by typing
# expect: refused error success
import typing
for text in ("__import__('os').listdir('/')", "open('/etc/passwd').read()", "eval('1')", "[c for c in ().__class__.__base__.__subclasses__()]"):
    class A:
        pass
    A.__annotations__ = {'x': text}
    try:
        print('ESC' + 'APED:', typing.get_type_hints(A))
    except Exception as e:
        print(type(e).__name__)
    try:
        print('ESC' + 'APED:', typing.ForwardRef(text)._evaluate({}, {}, frozenset()))
    except Exception as e:
        print(type(e).__name__)
