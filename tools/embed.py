"""embed.py SOURCE TARGET NAME: a file of ours as an array of C."""
import sys

source, target, name = sys.argv[1:]
with open(source, "rb") as file:
    data = file.read() + b"\0"
with open(target, "w", encoding="ascii") as file:
    file.write(f"extern const char {name}[];\nconst char {name}[] = {{\n")
    for at in range(0, len(data), 20):
        file.write("    " + ", ".join(str(byte) for byte in data[at : at + 20]) + ",\n")
    file.write("};\n")
