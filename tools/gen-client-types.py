#!/usr/bin/python3
"""gen-client-types.py [--check] [BUILD]: sdk/typescript/types/api.d.ts, from the /openapi.json of BUILD/belljar (default: build).

Every schema becomes a type of its name, and every route of Belljar's own becomes a member of `Routes`, with the type of its
query, its body and its answer. Run it after a change of routes, fields or answers; a test compares. --check writes nothing and
ends with 1 if the file differs.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "sdk/typescript/types/api.d.ts"
HEAD = "// Made from the server's /openapi.json by tools/gen-client-types.py. Do not edit.\n"

# Interfaces of other systems, which have clients of their own.
OTHERS = {"coderunner", "pyrunner", "e2b", "jupyter", "dify", "sandboxfusion"}
SCALARS = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
NAME = re.compile(r"[A-Za-z_]\w*")


class Unknown(Exception):
    """A part of the document that has no translation here."""


def indent(text):
    return textwrap.indent(text, "  ")


def comment(text):
    """A comment that nothing in its text can end."""
    return f"/** {text.replace('*/', '* /')} */\n" if text else ""


def name_of(text):
    return text if NAME.fullmatch(text) else json.dumps(text)


def reference(schema):
    return schema["$ref"].rpartition("/")[2]


def type_of(schema):
    if "$ref" in schema:
        return reference(schema)
    if "allOf" in schema:
        return " & ".join(map(type_of, schema["allOf"]))
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    kinds = schema.get("type")
    if kinds is None:
        return "unknown"
    return " | ".join(one_type(kind, schema) for kind in (kinds if isinstance(kinds, list) else [kinds]))


def one_type(kind, schema):
    if kind == "array":
        item = type_of(schema.get("items", {}))
        return f"({item})[]" if "|" in item or "&" in item else f"{item}[]"
    if kind == "object":
        return object_type(schema)
    if kind not in SCALARS:
        raise Unknown(f"type {kind}")
    return SCALARS[kind]


def object_type(schema):
    rest = schema.get("additionalProperties")
    if not schema.get("properties"):
        if isinstance(rest, dict):
            return f"{{ [name: string]: {type_of(rest)} }}"
        return "{ [name: string]: never }" if rest is False else "{ [name: string]: unknown }"
    required = set(schema.get("required", ()))
    members = "".join(
        f"{comment(member.get('description'))}{name_of(name)}{'' if name in required else '?'}: {type_of(member)};\n"
        for name, member in schema["properties"].items()
    )
    return f"{{\n{indent(members)}}}"


def answer_of(operation):
    """Of the first good status, or a WebSocket's; `never` stands for an answer without JSON."""
    for status, answer in sorted(operation["responses"].items()):
        if status.startswith("2") or status == "101":
            schema = answer.get("content", {}).get("application/json", {}).get("schema")
            return type_of(schema) if schema else "never"
    raise Unknown("no good answer")


def route_type(operation):
    parts, query = {}, {}
    for parameter in operation["parameters"]:
        if parameter["in"] in ("path", "query"):
            (parts if parameter["in"] == "path" else query)[parameter["name"]] = parameter["schema"]
    body = operation.get("requestBody", {}).get("content", {})
    kinds = {
        "parts": object_type({"properties": parts, "required": list(parts), "additionalProperties": False}),
        "query": object_type({"properties": query, "additionalProperties": False}),
        "json": type_of(body["application/json"]["schema"]) if "application/json" in body else "never",
        "bytes": "true" if "application/octet-stream" in body else "false",
        "key": "true" if any(p["name"] == "Idempotency-Key" for p in operation["parameters"]) else "false",
        "answer": answer_of(operation),
    }
    return "{\n" + indent("".join(f"{name}: {kind};\n" for name, kind in kinds.items())) + "}"


def used_schemas(document, seen, part):
    """Schemas that a part of the document leads to."""
    if isinstance(part, dict):
        if "$ref" in part and reference(part) not in seen:
            seen.add(reference(part))
            used_schemas(document, seen, document["components"]["schemas"][reference(part)])
        for value in part.values():
            used_schemas(document, seen, value)
    elif isinstance(part, list):
        for value in part:
            used_schemas(document, seen, value)
    return seen


def render(document):
    """The text of the file."""
    schemas = document["components"]["schemas"]
    own = {
        f"{method.upper()} {path}": operation
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
        if not OTHERS & set(operation["tags"])
    }
    used = used_schemas(document, {"Events"}, [list(own.values()), schemas["Events"]])
    text = HEAD
    for name, schema in schemas.items():
        if name in used:
            text += f"\n{comment(schema.get('description'))}export type {name} = {type_of(schema)};\n"
    members = "".join(f"{comment(o['summary'])}{json.dumps(name)}: {route_type(o)};\n" for name, o in own.items())
    text += "\n/** Every route: parts of its path, its query, its body as JSON or bytes, whether it takes an idempotency key, its answer. */\n"
    return f"{text}export interface Routes {{\n{indent(members)}}}\n"


def read_document(build):
    """Returns the /openapi.json of a server that is started for this, in a home of its own."""
    with tempfile.TemporaryDirectory() as home:
        env = {"PATH": "/usr/bin:/bin", "HOME": home, "XDG_RUNTIME_DIR": home, "BELLJAR_PRELOAD": "", "BELLJAR_POOL_SIZE": "1", "BELLJAR_POOL_HOT": "0"}
        server = subprocess.Popen(
            [os.path.join(build, "belljar"), "serve", "--no-auth", "--listen", "127.0.0.1:0", "--socket", "none"],
            env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        try:
            said = ""
            while not (found := re.search(r"listening on (http://\S+)", said)):
                line = server.stdout.readline()
                if not line:
                    raise SystemExit(f"gen-client-types: the server does not start:\n{said}")
                said += line
            with urllib.request.urlopen(f"{found[1]}/openapi.json", timeout=60) as answer:
                return json.load(answer)
        finally:
            server.terminate()
            server.wait()


def main(arguments):
    is_check = "--check" in arguments
    text = render(read_document(next((a for a in arguments if not a.startswith("--")), str(ROOT / "build"))))
    is_same = TARGET.exists() and TARGET.read_text(encoding="utf-8") == text
    if is_check:
        print("the same" if is_same else f"{TARGET.relative_to(ROOT)} is not what the server says: run tools/gen-client-types.py")
        return 0 if is_same else 1
    if not is_same:
        TARGET.parent.mkdir(parents=True, exist_ok=True)
        TARGET.write_text(text, encoding="utf-8")
        print(TARGET.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
