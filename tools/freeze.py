#!/usr/bin/env python3
"""freeze.py OUT.c NAME=FILE...: Python modules as code inside a program, a table for PyImport_FrozenModules.

Run by the interpreter the program is linked with: what is written is that version's byte code.
"""
import marshal
import os
import sys


def main(out, *modules):
    rows = []
    with open(out, "w", encoding="ascii") as c:
        c.write("/* Made by tools/freeze.py. */\n#include \"guest/library.h\"\n\n")
        for number, module in enumerate(modules):
            name, _, path = module.partition("=")
            with open(path, encoding="utf-8") as source:
                code = compile(source.read(), f"<frozen {name}>", "exec", dont_inherit=True, optimize=0)
            data = marshal.dumps(code)
            c.write(f"static const unsigned char code_{number}[] = {{{','.join(map(str, data))}}};\n")
            is_package = os.path.basename(path) == "__init__.py"
            rows.append(f'    {{"{name}", code_{number}, sizeof(code_{number}), {int(is_package)}}},\n')
        c.write(f"\nconst struct _frozen library_modules[] = {{\n{''.join(rows)}    {{0}},\n}};\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
