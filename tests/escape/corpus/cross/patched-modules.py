# id: cross-patched-modules
# category: cross
# profile: open
# threat: a module patched by an earlier run is still patched
# expect: success error
# limits: memory=512 timeout=15
# runs: 2
import builtins, json, os, sys
import numpy
for m in (builtins, json, os, sys, numpy):
    if hasattr(m, 'bjleft'):
        print('ESC' + 'APED:', m)
    m.bjleft = True
if 'bjleft' in sys.modules or os.environ.get('BJLEFT') or sys.flags is None:
    print('ESC' + 'APED: modules')
sys.modules['bjleft'] = sys
os.environ['BJLEFT'] = '1'
os.chdir('/tmp')
os.umask(0)
sys.setrecursionlimit(5000)
