# id: policy-json-object-hook
# category: policy
# profile: strict
# threat: callbacks of allowed parsers are blocked builtins
# expect: refused
import json
import re
json.loads('{"a": 1}', object_hook=eval, parse_int=exec, parse_constant=compile)
re.sub('.', eval, 'x')
