# id: control-display-replaced
# category: control
# profile: open
# threat: replaces what rich output relies on: builtins, sys.modules, streams, matplotlib's own functions
# expect: success
import builtins, sys, types
import matplotlib.pyplot as plt
import matplotlib._pylab_helpers as helpers
class Evil:
    def __getattr__(self, name): raise SystemExit(0)
    def __bool__(self): raise KeyboardInterrupt
    def __iter__(self): return iter(int, 1)
plt.plot([1])
helpers.Gcf.figs = Evil()
sys.modules['matplotlib._pylab_helpers'] = Evil()
sys.modules['matplotlib.figure'] = Evil()
sys.modules['pandas'] = Evil()
sys.modules['_io'] = Evil()
builtins.getattr = builtins.isinstance = builtins.len = None
sys.stdout = sys.stderr = Evil()
display(object())
object()
