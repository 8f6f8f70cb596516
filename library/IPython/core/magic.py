"""Decorators of programs that define magics. A line `%name …`, or a cell `%%name …`, of a later cell then calls the function."""

# guest/notebook_magic.c asks which names there are.
line_magics, cell_magics = {}, {}


def register_function(function, kind="line", name=None):
    name = name or getattr(function, "__name__", "")
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError("a magic needs a name")
    for one, magics in (("line", line_magics), ("cell", cell_magics)):
        if one in kind:
            magics[name] = function


def _decorator(use):
    def decorator(name_or_function=None):
        if callable(name_or_function):
            return use(name_or_function, None)
        return lambda function: use(function, name_or_function)

    return decorator


def _registering(kind):
    def use(function, name):
        register_function(function, kind, name)
        return function

    return _decorator(use)


def _marking(kind):
    """Methods of a class of magics: register_magics() finds them."""

    def use(function, name):
        function._magic = (kind, name)
        return function

    return _decorator(use)


register_line_magic, register_cell_magic, register_line_cell_magic = _registering("line"), _registering("cell"), _registering("line_cell")
line_magic, cell_magic, line_cell_magic = _marking("line"), _marking("cell"), _marking("line_cell")


def magics_class(cls):
    return cls


def needs_local_scope(function):
    return function


no_var_expand = output_can_be_silenced = needs_local_scope


class Magics:
    def __init__(self, shell=None, **kwargs):
        self.shell = shell


def register_class(magics):
    for name in (name for name in dir(type(magics)) if not name.startswith("_")):
        mark = getattr(getattr(type(magics), name), "_magic", None)
        if isinstance(mark, tuple):
            register_function(getattr(magics, name), mark[0], mark[1] or name)
