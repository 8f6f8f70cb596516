# id: policy-gc-objects
# category: policy
# profile: strict
# threat: finds modules among all live objects
# expect: refused
import gc
for o in gc.get_objects():
    if str(o).startswith("<module 'posix'"):
        o.system('echo ESC""APED:')
        print('ESC' + 'APED:')
