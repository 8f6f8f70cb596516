#!/usr/bin/python3
"""good.py [--era legacy|modern|both] [--set orders|people]: an MCP server over stdio, for tests.

It keeps to the protocol in the era it is told to speak, and knows nothing of Belljar.
"""
import argparse
import json
import os
import subprocess
import sys
import time

META = "io.modelcontextprotocol/"
MODERN = "2026-07-28"
LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26")

PEOPLE = [{"id": n, "name": f"person {n}", "city": "Basel" if n % 3 else "Bern", "notes": "x" * 200} for n in range(60)]
ORDERS = [{"id": n, "person": n % 60, "total": n * 7 % 50, "lines": ["y" * 40] * 5} for n in range(150)]


def schema(required=(), **properties):
    return {"type": "object", "properties": properties, "required": list(required)}


TOOLS = [
    {"name": "add", "description": "The sum of two numbers.",
     "inputSchema": schema(["a"], a={"type": "integer", "description": "the first"}, b={"type": "integer", "default": 2}),
     "outputSchema": schema(["sum"], sum={"type": "integer"}), "annotations": {"readOnlyHint": True}},
    {"name": "echo-text", "description": "Gives a text back.\n\nAs it came.",
     "inputSchema": schema(["text"], text={"type": "string"}, times={"type": "integer", "minimum": 1},
                           **{"from": {"type": "string", "enum": ["left", "right"]}}),
     "annotations": {"readOnlyHint": True}},
    {"name": "fail", "description": "Never works.", "inputSchema": schema(), "annotations": {"readOnlyHint": True}},
    {"name": "sleep", "description": "Takes its time.", "inputSchema": schema(["seconds"], seconds={"type": "number"}),
     "annotations": {"readOnlyHint": True}},
    {"name": "environment", "description": "The variables it was started with.", "inputSchema": schema(),
     "annotations": {"readOnlyHint": True}},
    {"name": "write", "description": "Changes the world.", "inputSchema": schema(["text"], text={"type": "string"})},
    {"name": "picture", "description": "A picture.", "inputSchema": schema(), "annotations": {"readOnlyHint": True}},
    {"name": "people", "description": "All people.", "inputSchema": schema(), "annotations": {"readOnlyHint": True}},
    {"name": "orders", "description": "All orders.", "inputSchema": schema(), "annotations": {"readOnlyHint": True}},
    {"name": "nap", "description": "Starts a process that stays.", "inputSchema": schema(seconds={"type": "integer", "default": 86399}),
     "annotations": {"readOnlyHint": True}},
]


def send(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def text(words, **more):
    return {"content": [{"type": "text", "text": words}], **more}


def structured(value):
    return text(json.dumps(value), structuredContent=value)


def call(name, a):
    if name == "add":
        return structured({"sum": a["a"] + a.get("b", 2)})
    if name == "echo-text":
        return text(a.get("from", "") + a["text"] * a.get("times", 1))
    if name == "fail":
        return text("it went wrong: no luck", isError=True)
    if name == "sleep":
        time.sleep(a["seconds"])
        return text("slept")
    if name == "environment":
        return structured({"variables": dict(os.environ), "cwd": os.getcwd(), "arguments": sys.argv[1:],
                           "descriptors": sorted(int(n) for n in os.listdir("/proc/self/fd"))})
    if name == "write":
        return text("written: " + a["text"])
    if name == "picture":
        return {"content": [{"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}]}
    if name == "people":
        return structured({"people": PEOPLE})
    if name == "orders":
        return structured({"orders": ORDERS})
    if name == "nap":
        subprocess.Popen(["sleep", str(a.get("seconds", 86399))])
        return text("it sleeps")
    return None


def page(cursor):
    """Two to a page, so that pages are asked for."""
    start = int(cursor or 0)
    result = {"tools": TOOLS[start:start + 4]}
    if start + 4 < len(TOOLS):
        result["nextCursor"] = str(start + 4)
    return result


def answer(options, message):
    method, params = message["method"], message.get("params", {})
    is_modern = META + "protocolVersion" in params.get("_meta", {})
    if is_modern and options.era == "legacy" or not is_modern and options.era == "modern":
        return None
    if method == "initialize":
        version = params["protocolVersion"]
        return {"protocolVersion": version if version in LEGACY else LEGACY[0], "capabilities": {"tools": {}},
                "serverInfo": {"name": "good", "version": "1"}, "instructions": "Be kind."}
    if method == "server/discover":
        return {"supportedVersions": [MODERN], "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private",
                "instructions": "Be kind.", "_meta": {META + "serverInfo": {"name": "good", "version": "1"}}}
    if method == "ping" and not is_modern:
        return {}
    if method == "tools/list":
        return page(params.get("cursor"))
    if method == "tools/call":
        return call(params["name"], params.get("arguments", {}))
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--era", default="both")
    parser.add_argument("--mark", help="to be found by")
    options = parser.parse_args()
    print("good server is up", file=sys.stderr)
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        result = answer(options, message)
        if result is None:
            send({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "not here"}})
        else:
            if META + "protocolVersion" in message.get("params", {}).get("_meta", {}):
                result = {"resultType": "complete", **result}
            send({"jsonrpc": "2.0", "id": message["id"], "result": result})


if __name__ == "__main__":
    main()
