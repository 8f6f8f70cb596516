# id: policy-display-called-back
# category: policy
# profile: strict
# threat: is called from the code that shows tables and figures, and tries there what is refused elsewhere
# expect: success
# require: looked
import traceback
import matplotlib.pyplot as plt
import pandas as pd

U = chr(95) * 2

def attempt():
    for text in ("__imp" + "ort__('o' 's').getpid()", "op" + "en('/etc/passwd').read()"):
        try:
            pd.eval(text, engine='python')
            print('ESC' + 'APED: evaluated')
        except Exception:
            pass
    for name in ('_get' + 'frame', '__built' + 'ins__', '__glob' + 'als__'):
        for holder in (display, pd.DataFrame.to_string, plt.show):
            try:
                value = getattr(holder, name)
                print('ESC' + 'APED:', name, value)
            except (AttributeError, PermissionError):
                pass
    try:
        raise ValueError
    except ValueError as e:
        text = traceback.format_exc()
        tb = getattr(e, U + 'traceback' + U, None)
        if tb is not None:
            print('ESC' + 'APED: a traceback', tb)
    return '<b>'

class Frame(pd.DataFrame):
    def to_string(self, *a, **k):
        attempt()
        return super().to_string()
    @property
    def dtypes(self):
        attempt()
        return super().dtypes
    def _repr_html_(self):
        return attempt()

display(Frame({'a': [1]}))

class Line:
    def get_label(self):
        attempt()
        return 'x'

fig, ax = plt.subplots()
class Figure(type(fig)):
    is_ready = False
    def savefig(self, target, **k):
        attempt()
        try:
            getattr(target, U + 'class' + U)
            print('ESC' + 'APED: a class')
        except (AttributeError, PermissionError):
            pass
        target.write(b'\x89PNG')
    @property
    def axes(self):
        if not self.is_ready:
            return super().axes
        attempt()
        return [Line()]
evil = Figure()
evil.is_ready = True
display(evil)
plt.show()
print('looked')
