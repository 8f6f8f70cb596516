# id: policy-pickled-getattr
# category: policy
# profile: standard
# threat: an unpickler's getattr reads the globals of a function
# expect: refused error
# limits: timeout=10 memory=512
import json
import pickle
stream = b"cbuiltins\ngetattr\n(cjson\ndumps\nV__globals__\ntR."
names = pickle.loads(stream)
print("ESC" + "APED:", list(names)[:3])
