# id: policy-pandas-query
# category: policy
# profile: strict
# threat: a query string of pandas calls what it must not
# expect: refused error success
# limits: timeout=10 memory=512
import pandas as pd
df = pd.DataFrame({'a': [1]})
tries = [
    "@pd.io.common.os.listdir('/')",
    "@pd.compat.os.system('echo ESC\"\"APED:')",
    "a.__class__",
    "@df.a.__class__.__init__.__globals__",
]
for t in tries:
    for engine in ('python', None):
        try:
            print('ESC' + 'APED:', df.query(t, engine=engine))
        except Exception as e:
            print(type(e).__name__)
        try:
            print('ESC' + 'APED:', pd.eval(t, engine=engine))
        except Exception as e:
            print(type(e).__name__)
