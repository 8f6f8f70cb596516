# Finds modules that a program imports and that are not installed. The program is not run: only its tree is read.
import ast
import importlib.util
import sys


def catches_import_errors(handler):
    """Whether an `except` clause is there for a module that is missing."""
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(isinstance(k, ast.Name) and k.id in ("ImportError", "ModuleNotFoundError", "Exception", "BaseException") for k in kinds)


def is_installed(name):
    try:
        return name in sys.modules or importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def imported(node):
    """[(name, line, column)] of the modules themselves. A tree does not say where that of `from` stands: usually after one space."""
    if isinstance(node, ast.Import):
        return [(alias.name, alias.lineno, alias.col_offset) for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        return [(node.module, node.lineno, node.col_offset + len("from "))]
    return []


def spared_statements(node):
    """What a `try` may fail to import, and what it would import instead if that does not fail."""
    handlers = [handler for handler in getattr(node, "handlers", []) if catches_import_errors(handler)]
    if not handlers:
        return []
    tried = [name for statement in node.body for child in ast.walk(statement) for name, _, _ in imported(child)]
    return node.body + (handlers if tried and all(is_installed(name.partition(".")[0]) for name in tried) else [])


def missing_imports(tree):
    """[(name, line, column)], in the order of the text. Imports that the program can do without are left out."""
    found, todo = [], [(tree, False)]
    while todo:
        node, is_optional = todo.pop()
        for name, line, column in imported(node):
            top = name.partition(".")[0]
            if not is_optional and not is_installed(top):
                found.append((top, line, column))
        spared = set(map(id, spared_statements(node)))
        todo += [(child, is_optional or id(child) in spared) for child in ast.iter_child_nodes(node)]
    return sorted(found, key=lambda item: item[1:])
