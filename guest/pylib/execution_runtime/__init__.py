"""The `api` library by its shorter names: from execution_runtime import fs, code, transform, git."""

_NAMES = {"fs": "api.filesystem", "code": "api.code_analysis", "transform": "api.code_transform", "git": "api.git_operations"}
_MASKING = {"mask_secrets", "PIIDetector", "mask_result", "detect_secrets"}


def _is_there(module):
    import importlib.util

    return importlib.util.find_spec(module) is not None


def __getattr__(name):
    import importlib

    if name in _NAMES and _is_there(_NAMES[name]):
        return importlib.import_module(_NAMES[name])
    if name in _MASKING:
        return getattr(importlib.import_module("api.masking"), name)
    raise AttributeError(f"module 'execution_runtime' has no attribute {name!r}")


def __dir__():
    return sorted(name for name, module in _NAMES.items() if _is_there(module)) + sorted(_MASKING)
