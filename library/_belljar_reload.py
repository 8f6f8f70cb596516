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


def renew_class(old, new):
    for name in [name for name in vars(old) if name not in vars(new) and name not in FIXED]:
        delattr(old, name)
    for name, value in list(vars(new).items()):
        before = vars(old).get(name)
        if name not in FIXED and not renew(before, value):
            setattr(old, name, value)


def renew(old, new):
    """Makes the old function or class, which the program may have bound, do what the new one does. False: it is neither."""
    if type(old) is FUNCTION and type(new) is FUNCTION and len(old.__code__.co_freevars) == len(new.__code__.co_freevars):
        for part in PARTS:
            setattr(old, part, getattr(new, part))
        return True
    if type(old) is type and type(new) is type and old is not new:
        renew_class(old, new)
        return True
    return False


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
                if getattr(old, "__module__", None) == name:
                    renew(old, vars(module).get(key))
            except Exception:  # slots, another layout: the next one to be made is new
                pass
