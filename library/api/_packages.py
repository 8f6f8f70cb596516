"""Modules that are installed when they are first imported: those that the operator lists, from the index that is granted."""

import sys

from api._call import CallError, call

_PLACE = "/tmp/packages"
_listed = None  # {module: package}, once somebody asked


def _packages():
    global _listed
    if _listed is None:
        try:
            _listed = call("packages.list")["modules"]
        except CallError:
            return {}  # a child of the program cannot ask
    return _listed


def _install(module):
    """Raises ModuleNotFoundError with what pip said last."""
    import subprocess

    try:
        package = call("packages.install." + module)["package"]
        words = ["/usr/bin/python3", "-m", "pip", "install", "--quiet", "--no-input", "--prefer-binary", "--target", _PLACE, package]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False)
        why = "" if done.returncode == 0 else (done.stderr.strip() or f"exit status {done.returncode}").partition("\nbelljar: ")[0].splitlines()[-1]
    except (CallError, OSError) as error:
        why = str(error)
    if why:
        raise ModuleNotFoundError(f"No module named {module!r}: it could not be installed: {why}", name=module) from None


class Finder:
    """The last to be asked: nobody else knows the module."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if path is not None or name not in _packages():
            return None
        del _listed[name]  # once is enough, whatever comes of it
        _install(name)
        import importlib.machinery

        importlib.invalidate_caches()
        return importlib.machinery.PathFinder.find_spec(name)


sys.meta_path.append(Finder)
