# id: control-del-builtins
# category: control
# profile: open
# threat: takes the interpreter apart before it ends
# expect: success
import builtins, gc, sys
for n in list(vars(builtins)):
    if n not in ('delattr', 'vars', 'list', '__build_class__'):
        try:
            builtins.__dict__.pop(n)
        except TypeError:
            pass
sys.modules.clear()
sys.__dict__.clear()
