# id: policy-numpy-files
# category: policy
# profile: strict
# threat: reads and writes files with numpy's own functions, some of them in C
# expect: refused error success
# limits: timeout=10 memory=512
import numpy as np
tries = [
    lambda: np.fromfile('/etc/passwd', dtype='u1')[:4],
    lambda: np.memmap('/etc/passwd', mode='r')[:4],
    lambda: np.genfromtxt('/etc/passwd', dtype=str, delimiter=':')[:1],
    lambda: np.loadtxt('/etc/passwd', dtype=str, delimiter='%')[:1],
    lambda: np.DataSource(None).open('/etc/passwd').read(4),
    lambda: np.save('@CANARY_DIR@/pwned', np.zeros(1)) or 1,
    lambda: np.zeros(1).tofile('@CANARY_DIR@/pwned') or 1,
    lambda: np.savetxt('@CANARY_DIR@/pwned', np.zeros(1)) or 1,
]
for t in tries:
    try:
        print('ESC' + 'APED:', t())
    except Exception as e:
        print(type(e).__name__)
