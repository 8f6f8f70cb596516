# id: policy-attributeerror-obj-plain
# category: policy
# profile: strict
# threat: takes a module out of an AttributeError with no underscore in sight
# expect: refused error
import json
try:
    json.codecs.nope
except AttributeError as e:
    m = e.obj
    b = m.builtins
    print('ESC' + 'APED:', b.open('/etc/passwd').read())
