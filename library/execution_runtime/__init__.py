"""The `api` library by shorter names, and data kept between runs.

    from execution_runtime import fs, code, transform, git, Session, save_skill
"""

_NAMES = {"fs": "api.filesystem", "code": "api.code_analysis", "transform": "api.code_transform", "git": "api.git_operations"}
_MEMBERS = {
    "api.masking": ("mask_secrets", "PIIDetector", "mask_result", "detect_secrets"),
    "api._call": ("CallError",),
    "execution_runtime._sessions": ("Session", "create_session", "create_refactoring_session", "save_session_state",
                                    "load_session_state", "load_session", "list_sessions", "delete_session"),
    "execution_runtime._guard": ("ImportGuard", "is_import_allowed", "restrict_import"),
    "execution_runtime._skills": ("save_skill", "save_reusable_skill", "load_skill", "list_skills", "delete_skill", "get_skill_path"),
    "api": ("list_available_apis",),
}
_MODULES = {name: module for module, names in _MEMBERS.items() for name in names}


def _is_there(module):
    import importlib.util

    return importlib.util.find_spec(module) is not None


def __getattr__(name):
    import importlib

    if name in _NAMES and _is_there(_NAMES[name]):
        return importlib.import_module(_NAMES[name])
    if name in _MODULES:
        return getattr(importlib.import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'execution_runtime' has no attribute {name!r}")


__all__ = sorted(_NAMES) + sorted(_MODULES)


def __dir__():
    return sorted(name for name, module in _NAMES.items() if _is_there(module)) + sorted(_MODULES)
