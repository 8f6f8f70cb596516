"""Modules of the project whose files have changed (guest/fresh_modules.c): importlib.reload(), and `%autoreload`."""

import sys
import weakref

dropped = weakref.WeakValueDictionary()  # no longer in sys.modules


def put_back(name):
    """importlib.reload() wants a module, and the packages around it, where an import has put them."""
    while name:
        module = dropped.get(name)
        if module is not None:
            sys.modules.setdefault(name, module)
        name = name.rpartition(".")[0]


def drop(modules):
    """They have left sys.modules. A name that is bound to one of them can still be reloaded."""
    import importlib

    dropped.update(modules)
    real = importlib.reload
    if getattr(real, "_belljar", False):
        return

    def reload(module):
        name = getattr(getattr(module, "__spec__", None), "name", None) or getattr(module, "__name__", "")
        if isinstance(name, str) and dropped.get(name) is module:
            put_back(name)
        return real(module)

    reload._belljar, reload.__doc__ = True, real.__doc__
    importlib.reload = reload


# --- in place ---

FUNCTION = type(put_back)
PARTS = ("__code__", "__defaults__", "__kwdefaults__", "__doc__", "__annotations__", "__dict__")
FIXED = ("__dict__", "__weakref__", "__module__")


def is_own(thing, module, name):
    """A function or class that the module's own text makes. One that it imported stays as it is, and lends nothing: the code of a library's
    function would run with the program's names."""
    if type(thing) is FUNCTION:
        return thing.__globals__ is vars(module)
    return type(thing) is type and vars(thing).get("__module__") == name


def renew_class(old, new, module, name):
    for part in [part for part in vars(old) if part not in vars(new) and part not in FIXED]:
        delattr(old, part)
    for part, value in list(vars(new).items()):
        if part not in FIXED and not renew(vars(old).get(part), value, module, name):
            setattr(old, part, value)


def renew(old, new, module, name):
    """Makes the old function or class, which the program may have bound, do what the new one does. False: one of them is neither."""
    if old is new or type(old) is not type(new) or not is_own(old, module, name) or not is_own(new, module, name):
        return False
    if type(old) is FUNCTION:
        if len(old.__code__.co_freevars) != len(new.__code__.co_freevars):
            return False
        for part in PARTS:
            setattr(old, part, getattr(new, part))
    else:
        renew_class(old, new, module, name)
    return True


def renew_all(names):
    """Reads the modules again. What cannot be read stays as it was, and standard error says why."""
    import importlib
    import traceback

    for name in names:
        module = sys.modules.get(name)
        if module is None:
            continue
        before = dict(vars(module))
        try:
            importlib.reload(module)
        except Exception as error:
            vars(module).update(before)
            print(f"[autoreload of {name} failed: {''.join(traceback.format_exception_only(type(error), error)).strip()}]", file=sys.stderr)
            continue
        for key, old in before.items():
            try:
                renew(old, vars(module).get(key), module, name)
            except Exception:  # slots, another layout: the next one to be made is new
                pass
