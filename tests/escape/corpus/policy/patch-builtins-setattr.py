# id: policy-patch-builtins-setattr
# category: policy
# profile: strict
# threat: changes a builtin type's or module's behaviour with setattr
# expect: refused error
import json
setattr(json, '__bui' + 'ltins__', {})
type.__setattr__(json.JSONEncoder, 'default', eval)
print('ESC' + 'APED:')
