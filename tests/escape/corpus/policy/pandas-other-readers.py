# id: policy-pandas-other-readers
# category: policy
# profile: strict
# threat: the many other readers of an allowed library
# expect: refused error success
# limits: timeout=10 memory=512
import pandas as pd
for f in (lambda: pd.read_fwf('/etc/passwd'), lambda: pd.read_table('@CANARY_FILE@'), lambda: pd.read_json('@CANARY_FILE@', lines=True),
          lambda: pd.read_html('/etc/passwd'), lambda: pd.read_xml('/etc/passwd'), lambda: pd.read_csv('file:///etc/passwd', sep=':'),
          lambda: pd.read_csv('/etc/passwd', engine='c', low_memory=False, memory_map=True, sep=':')):
    try:
        print('ESC' + 'APED:', f())
    except Exception as e:
        print(type(e).__name__)
