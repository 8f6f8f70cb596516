# id: policy-logging-format
# category: policy
# profile: strict
# threat: lets a library apply a brace template of ours to an object of ours
# expect: refused error
import logging
class R:
    def __init__(self):
        self.f = lambda: 0
fmt = logging.Formatter('{x.f.__glo' + 'bals__}', style='{')
rec = logging.makeLogRecord({'msg': 'm', 'x': R()})
print('ESC' + 'APED:', fmt.format(rec))
