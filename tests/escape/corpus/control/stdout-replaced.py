# id: control-stdout-replaced
# category: control
# profile: open
# threat: replaces the file objects the runner writes to
# expect: error
import io, sys
class W(io.StringIO):
    def flush(self):
        raise SystemExit(0)
    def write(self, s):
        1 / 0
sys.stdout = W()
sys.stderr = None
sys.__stdout__ = 5
sys.displayhook = sys.excepthook = lambda *a: None
1 / 0
