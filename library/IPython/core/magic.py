"""Decorators of programs that define magics: the functions stay ordinary functions, no line calls them."""


def _same(name_or_function=None, *rest):
    return name_or_function if callable(name_or_function) else lambda function: function


register_line_magic = register_cell_magic = register_line_cell_magic = line_magic = cell_magic = line_cell_magic = magics_class = needs_local_scope = _same


class Magics:
    def __init__(self, shell=None, **kwargs):
        self.shell = shell
