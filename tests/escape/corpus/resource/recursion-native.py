# id: resource-recursion-native
# category: resource
# profile: strict
# threat: recursion in C code that overflows the native stack
# expect: error
# limits: timeout=5
import json
print(json.loads('[' * 200000 + ']' * 200000))
