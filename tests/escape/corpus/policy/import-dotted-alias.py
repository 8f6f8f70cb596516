# id: policy-import-dotted-alias
# category: policy
# profile: strict
# threat: hides a forbidden module behind a dotted import and an alias
# expect: refused
import os.path as p
from posixpath import os as o
o.system('echo ESC""APED:')
