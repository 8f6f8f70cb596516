"""A list of modules that code may import, to be asked by programs. Belljar's own rules are the profile's, and stay in force."""

from fnmatch import fnmatchcase
from types import FunctionType

_STANDARD = frozenset(
    "re json datetime math collections itertools functools operator pathlib typing dataclasses enum copy heapq bisect array weakref types"
    " string textwrap unicodedata stringprep difflib hashlib hmac secrets os.path fnmatch linecache tempfile glob shutil pprint contextlib"
    " abc atexit traceback time argparse logging platform errno io codecs ast inspect dis".split()
)


class ImportGuard:
    """Modules that may be imported: a part of the standard library, and modules that match the patterns.

    >>> ImportGuard(["api.*", "numpy"]).is_allowed("numpy.linalg")
    """

    def __init__(self, allowed_patterns=("api.*", "execution_runtime.*")):
        self.allowed_patterns = list(allowed_patterns)

    def is_allowed(self, module_name):
        """Whether the module, or a package it is in, is on the list."""
        parts = module_name.split(".")
        names = [".".join(parts[: n + 1]) for n in range(len(parts))]
        return any(name in _STANDARD or any(fnmatchcase(name, p) or p == name + ".*" for p in self.allowed_patterns) for name in names)

    def restrict_import(self, module_name):
        """ImportError: it is not on the list."""
        if not self.is_allowed(module_name):
            raise ImportError(f"Import not allowed: {module_name}")

    def create_restricted_import(self):
        """A function to be called as __import__ is, which imports what is on the list."""

        def restricted_import(name, globals=None, locals=None, fromlist=(), level=0):
            if level == 0:
                self.restrict_import(name)
            return __import__(name, globals, locals, fromlist, level)

        # By its file name it is not a part of the library: it imports by the rules of the profile, as the program does.
        code = restricted_import.__code__.replace(co_filename="<restricted import>")
        return FunctionType(code, globals(), code.co_name, restricted_import.__defaults__, restricted_import.__closure__)


_guard = ImportGuard()


def is_import_allowed(module_name):
    """Whether the module is in the usual list.

    >>> is_import_allowed("json")
    """
    return _guard.is_allowed(module_name)


def restrict_import(module_name):
    """Raises ImportError if the module is not in the usual list.

    >>> restrict_import("json")
    """
    _guard.restrict_import(module_name)
