"""embed-files.py TARGET HEADER TYPE NAME PATH=FILE...: files as a table of C, whose rows are {path, bytes, length}."""
import sys

target, header, kind, name, *files = sys.argv[1:]
rows = []
with open(target, "w", encoding="ascii") as c:
    c.write(f'/* Made by tools/embed-files.py. */\n#include "{header}"\n\n')
    for number, entry in enumerate(files):
        path, _, source = entry.partition("=")
        with open(source, "rb") as file:
            data = file.read()
        c.write(f"static const unsigned char file_{number}[] = {{{','.join(map(str, data))},0}};\n")
        rows.append(f'    {{"{path}", file_{number}, sizeof(file_{number}) - 1}},\n')
    c.write(f"\nextern const {kind} {name}[];\nconst {kind} {name}[] = {{\n{''.join(rows)}    {{0}},\n}};\n")
