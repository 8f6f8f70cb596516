# id: policy-module-of-module
# category: policy
# profile: strict
# threat: walks from an allowed module to builtins through the modules it imported
# expect: refused error
import json
b = json.codecs.builtins
print('ESC' + 'APED:', b.open('/etc/passwd').read())
