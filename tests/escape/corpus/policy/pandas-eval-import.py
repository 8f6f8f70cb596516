# id: policy-pandas-eval-import
# category: policy
# profile: strict
# threat: pandas.eval with the builtin names of Python
# expect: refused error success
# limits: timeout=10 memory=512
import pandas as pd
for t in ("__import__('os').listdir('/')", "open('/etc/passwd').read()", "eval('1')"):
    try:
        print('ESC' + 'APED:', pd.eval(t, engine='python', parser='python'))
    except Exception as e:
        print(type(e).__name__)
