# id: policy-scipy-io
# category: policy
# profile: strict
# threat: reads files through scipy
# expect: refused error success
# limits: timeout=20 memory=512
import scipy
from scipy import io as sio
for f in (lambda: sio.loadmat('@CANARY_FILE@'), lambda: sio.mmread('@CANARY_FILE@'),
          lambda: sio.savemat('@CANARY_DIR@/pwned', {'a': 1}) or 1):
    try:
        print('ESC' + 'APED:', f())
    except Exception as e:
        print(type(e).__name__)
