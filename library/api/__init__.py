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


def __getattr__(name):
    """Modules of this package when they are first used."""
    if name in __all__:
        import importlib

        return importlib.import_module("api." + name)
    raise AttributeError(f"module 'api' has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__():
    return [*__all__, "list_available_apis"]
