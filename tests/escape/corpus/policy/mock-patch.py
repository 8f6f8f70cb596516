# id: policy-mock-patch
# category: policy
# profile: strict
# threat: unittest.mock imports by dotted name and swaps attributes
# expect: refused
from unittest.mock import patch
with patch('builtins.__import__', print):
    print('ESC' + 'APED:')
