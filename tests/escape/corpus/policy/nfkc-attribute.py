# id: policy-nfkc-attribute
# category: policy
# profile: strict
# threat: writes forbidden attributes and keywords in compatibility letters
# expect: refused
import json
print('ESC' + 'APED:', (lambda: 0).__ｇlobals__, json.ｃodecs.ｂuiltins)
