# id: policy-pandas-read-pickle
# category: policy
# profile: strict
# threat: pandas unpickles a call from memory
# expect: refused error
# limits: timeout=10 memory=512
import pandas as pd
from io import BytesIO
pd.read_pickle(BytesIO(b"c__builtin__\neval\n(S'print(\"ESC\" + \"APED:\")'\ntR."))
