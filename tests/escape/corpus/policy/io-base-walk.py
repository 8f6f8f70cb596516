# id: policy-io-base-walk
# category: policy
# profile: strict
# threat: finds FileIO among the subclasses of an allowed io class
# expect: refused error
from io import RawIOBase, TextIOWrapper
base = getattr(RawIOBase, '__ba' + 'se__')
for c in getattr(base, '__subcl' + 'asses__')():
    try:
        print('ESC' + 'APED:', c('/etc/passwd').read(20))
    except Exception as e:
        print(type(e).__name__)
