# id: policy-io-base-walk
# category: policy
# profile: strict
# threat: finds FileIO among the subclasses of an allowed io class
# expect: refused error
from io import RawIOBase, TextIOWrapper
subs = getattr(RawIOBase, '__subcl' + 'asses__')()
for c in subs:
    try:
        print('ESC' + 'APED:', c('/etc/passwd').read(20))
    except Exception as e:
        print(type(e).__name__)
