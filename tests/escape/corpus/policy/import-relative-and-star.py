# id: policy-import-relative-and-star
# category: policy
# profile: strict
# threat: pulls everything out of an allowed package with a star and hopes for its private imports
# expect: refused error
from collections import *
from json.decoder import *
from io import *
print(open('/etc/passwd').read()); print('ESC' + 'APED:')
