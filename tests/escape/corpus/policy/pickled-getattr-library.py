# id: policy-pickled-getattr-library
# category: policy
# profile: standard
# threat: a library unpickles a call of getattr for the globals of a function
# expect: refused error
# limits: timeout=10 memory=512
import io
import pandas as pd
names = pd.read_pickle(io.BytesIO(b"cbuiltins\ngetattr\n(cjson\ndumps\nV__globals__\ntR."), compression=None)
print("ESC" + "APED:", list(names)[:3])
