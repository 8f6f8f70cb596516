"""Work on files from code, and give back what was found or done instead of the files themselves.

    from api import filesystem, code_analysis, code_transform, git_operations

Every function returns a small dictionary or list. help(api.filesystem) shows all of them.
"""

__all__ = ["code_analysis", "code_transform", "filesystem", "git_operations", "masking", "web"]


def list_available_apis(detail="signatures", name=None):
    """Lists what can be imported: "names", then "signatures", then "full" help with an example of `name`.

    >>> list_available_apis("full", "filesystem.read_file")
    """
    from api._call import call

    return call("apis.list", detail=detail, name=name)


def _find(name):
    """The function of that name in one of the modules, or None."""
    import importlib

    for module in __all__:
        try:
            found = importlib.import_module("api." + module)
        except ImportError:  # in a Python that a program starts, some are not there
            continue
        if name in found.__all__:
            return getattr(found, name)
    return None


def __getattr__(name):
    """Modules of this package when they are first used; functions by their name alone."""
    import importlib

    if name in __all__:
        return importlib.import_module("api." + name)
    found = None if name.startswith("_") else _find(name)
    if found is None:
        raise AttributeError(f"module 'api' has no attribute {name!r}; it has {', '.join(__all__)}")
    return found


def __dir__():
    return [*__all__, "list_available_apis"]


def __help__():
    """The text that help(api) prints: the modules, and what else can be imported here."""
    from api import _discover

    return _discover.text()
