# id: policy-sklearn-joblib
# category: policy
# profile: strict
# threat: the model library's own pickles and worker processes
# expect: refused error success
# limits: timeout=20 memory=512
import sklearn.utils
from io import BytesIO
def a():
    from sklearn.utils import _joblib
    return _joblib.joblib.load(BytesIO(b"c__builtin__\neval\n(S'print(\"ESC\" + \"APED:\")'\ntR."))
try:
    a()
except Exception as e:
    print(type(e).__name__)
