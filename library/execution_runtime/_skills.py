"""Code that is saved once and imported by later programs, as skills.NAME."""

import ast

from api._call import CallError, call


def _same(name, code, description):
    """The stored skill, if it is this very code with this description: saving it again changes nothing. Otherwise None."""
    try:
        stored = call("skills.load", skill_name=name)
    except CallError:
        return None
    first, _, rest = stored["code"].partition("\n")
    is_same = code == stored["code"] or (code == rest and description in (None, first.strip('"')))
    return {"path": f"skills/{name}.py", **stored} if is_same else None


def _place(name, code):
    """Programs get the skills that they name when they start; this one has to have its own now."""
    import importlib
    import os

    try:
        os.makedirs(get_skill_path(), exist_ok=True)
        with open(f"{get_skill_path()}/{name}.py", "w", encoding="utf-8") as file:
            file.write(code)
    except OSError:  # the profile allows no files; later programs have it
        return
    importlib.invalidate_caches()


def save_skill(name, code, description=None):
    """Saves Python code; later programs import it: from skills.NAME import f. Older versions are kept.

    >>> save_skill("adder", "def add(a, b):\\n    return a + b\\n", "adds two numbers")
    """
    ast.parse(code, filename=f"skills/{name}.py")
    saved = _same(name, code, description) or call("skills.save", name=name, code=code, description=description)
    _place(name, code)
    return {
        "status": "success",
        "skill_name": name,
        "path": saved["path"],
        "version": saved["version"],
        "import_as": f"from skills.{name} import *",
    }


save_reusable_skill = save_skill


def load_skill(name):
    """The source of a skill. FileNotFoundError: there is none of that name.

    >>> load_skill("adder")
    """
    try:
        return call("skills.load", skill_name=name)["code"]
    except CallError as error:
        if error.code != "not_found":
            raise
        raise FileNotFoundError(f"there is no skill {name!r}; there are: {', '.join(list_skills()) or 'none'}") from None


def list_skills():
    """Names of all skills.

    >>> list_skills()
    """
    return [skill["name"] for skill in call("skills.list")["skills"]]


def delete_skill(name):
    """Deletes a skill with its older versions. FileNotFoundError: there is none of that name.

    >>> delete_skill("adder")
    """
    try:
        call("skills.delete", skill_name=name)
    except CallError as error:
        if error.code != "not_found":
            raise
        raise FileNotFoundError(str(error)) from None


def get_skill_path():
    """The directory in which programs find the skills that they name.

    >>> get_skill_path()
    """
    return "/workspace/skills"
