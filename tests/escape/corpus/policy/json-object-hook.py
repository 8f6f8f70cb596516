# id: policy-json-object-hook
# category: policy
# profile: strict
# threat: callbacks of allowed parsers are blocked builtins
# expect: refused
import json
import re
json.loads('{"a": 1}', parse_int=eval)
re.sub('.+', lambda m: str(m), 'x')
json.loads('["print(chr(69))"]', parse_float=exec)
print('ESC' + 'APED:')
