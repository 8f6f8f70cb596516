# id: policy-display-getattr
# category: policy
# profile: strict
# threat: the same by names that are put together at run time, on everything that has to do with displays
# expect: success
# require: looked
import belljar
import matplotlib.pyplot as plt
from matplotlib.backend_bases import FigureManagerBase
found = []
for thing in (display, belljar.display, belljar.progress, belljar.formats, belljar, FigureManagerBase.show, plt.show):
    for name in ('glob' + 'als__', 'builtins__', 'self__', 'code__', 'closure__', 'func__', 'loader__', 'spec__', 'dict__'):
        try:
            value = getattr(thing, '__' + name)
        except (AttributeError, PermissionError):
            continue
        if value is not None and value != {} and not isinstance(value, (str, int)):  # an empty dictionary holds nothing
            found.append((thing, name))
if found:
    print('ESC' + 'APED:', found)
print('looked')
