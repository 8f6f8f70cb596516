#!/usr/bin/python3
"""run.py [--clients] BUILD: the official MCP conformance suite, and official clients, against Belljar.

Everything comes from npm, pinned, with the Node that it needs, and is kept in BUILD/conformance. The suite's server
under test is BUILD/tests/conformance/conformance-server: the same code from the socket to the dispatcher as in
`belljar serve`, with the suite's fixtures instead of the tools. The SDKs' clients (1.x and 2.x, both eras, all
transports) talk to the product itself. With --clients, so do the inspector, Claude Code, Gemini CLI and Codex, on a
home that `belljar setup` has written; these are large packages. Tools of published servers are called from a sandbox.

Every check has to succeed: a warning is a failure here, scored or not. Ends with "N passed, N failed"; exit status 0,
1, or 77 where the packages cannot be had, with the reason.
"""
import collections
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests/lib"))

import npm  # noqa: E402

NODE = "node@22.23.3"
PACKAGES = {
    "released": "@modelcontextprotocol/conformance@0.1.16",
    "next": "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "sdk1": "@modelcontextprotocol/sdk@1.32.2",
    "sdk2": "@modelcontextprotocol/client@2.4.0",
}
# The other way round: servers whose tools programs in sandboxes call.
SERVERS = {name: f"@modelcontextprotocol/server-{name}@2026.8.31" for name in ("everything", "filesystem", "memory", "sequential-thinking")}
CLIENTS = {
    "inspector": "@modelcontextprotocol/inspector@2.12.0",
    "claude": "@anthropic-ai/claude-code@2.1.325",
    "gemini": "@google/gemini-cli@0.61.0",
    "codex": "@openai/codex@0.166.0",
}
RUNS = [
    ("released", "all scenarios of 0.1.16", ["--suite", "all"], 32),
    ("next", "requirements of 2025-11-25", ["--requirements", "2025-11-25"], 33),
    ("next", "requirements of 2026-07-28", ["--requirements", "2026-07-28"], 50),
]

# Checks that the suite itself passes over, whatever the server does.
SKIPPED = {"tasks-status-notifications"}

SECONDS = 300


def prepare(place, packages):
    npm.install(os.path.join(place, "node"), NODE)
    for name, package in packages.items():
        npm.install(os.path.join(place, name), package)
    found = glob.glob(os.path.join(place, "node/node_modules/node*/bin/node"))
    if not found:
        raise RuntimeError("the package `node` has no program")
    return found[0]


class Server:
    def __init__(self, *command, env=None):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env)
        found = re.search(r"http://\S+", self.process.stdout.readline())
        if not found:
            raise RuntimeError("the server does not say where it listens")
        self.url = found[0]

    def stop(self):
        """The exit status: a leak or a crash at the end counts, too."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return -1


def run_suite(node, place, name, options, server):
    out = os.path.join(place, "results", "-".join(options).strip("-"))
    shutil.rmtree(out, ignore_errors=True)
    done = subprocess.run(
        [node, os.path.join(place, name, "node_modules/@modelcontextprotocol/conformance/dist/index.js"), "server",
         "--url", server.url, *options, "-o", out],
        capture_output=True, text=True, timeout=SECONDS,
    )  # fmt: skip
    scenarios, counts, wrong = 0, collections.Counter(), []
    for path in sorted(glob.glob(os.path.join(out, "*/checks.json"))):
        scenarios += 1
        with open(path, encoding="utf-8") as file:
            for check in json.load(file):
                status = check["status"]
                counts[status] += 1
                if status not in ("SUCCESS", "INFO") and not (status == "SKIPPED" and check["id"] in SKIPPED):
                    wrong.append(f"{os.path.basename(os.path.dirname(path))} {check['id']}: {status} {check.get('errorMessage')}")
    if done.returncode != 0 and not wrong:
        wrong.append(f"the suite ended with status {done.returncode}: {(done.stdout + done.stderr)[-2000:]}")
    return scenarios, counts, wrong


def suite(node, place, build):
    program = os.path.join(build, "tests/conformance/conformance-server")
    subprocess.run(["ninja", "-C", build, "--quiet", "tests/conformance/conformance-server", "belljar-listener"], check=True)
    listener = os.path.join(build, "tests/conformance/belljar-listener")
    if not os.path.lexists(listener):
        os.symlink("../../belljar-listener", listener)  # it is looked for beside the program
    passed = failed = 0
    for name, title, options, expected in RUNS:
        server = Server(program)
        scenarios, counts, wrong = run_suite(node, place, name, options, server)
        status = server.stop()
        if status != 0:
            wrong.append(f"the server ended with status {status}")
        if scenarios != expected:
            wrong.append(f"{scenarios} scenarios were run, expected {expected}")
        passed += counts["SUCCESS"]
        failed += len(wrong)
        print(f"{title}: {scenarios} scenarios, " + ", ".join(f"{n} {s.lower()}" for s, n in sorted(counts.items())))
        for line in wrong:
            print(f"    FAILED {line}")
    return passed, failed


class Home:
    """A throw-away home with a server in it."""

    def __init__(self, build, node):
        self.belljar = os.path.abspath(os.path.join(build, "belljar"))
        self.directory = tempfile.mkdtemp(prefix="bjconf-")
        self.env = {
            "HOME": self.directory, "PATH": f"{os.path.dirname(node)}:/usr/bin:/bin", "BELLJAR_PRELOAD": "", "BELLJAR_POOL_SIZE": "2",
            "BELLJAR_LOG_LEVEL": "error",
        }  # fmt: skip
        self.server = Server(self.belljar, "serve", "--listen", "127.0.0.1:0", "--socket", "none", "--no-auth", env=self.env)

    def run(self, *command, **env):
        return subprocess.run(
            command, env={**self.env, **env}, cwd=self.directory, capture_output=True, text=True, timeout=SECONDS
        )

    def close(self):
        status = self.server.stop()
        shutil.rmtree(self.directory, ignore_errors=True)
        return status


def sdks(home, node, place):
    """One line for each way to connect."""
    done = home.run(
        node, os.path.join(ROOT, "tests/conformance/clients.mjs"), os.path.join(place, "sdk1"), os.path.join(place, "sdk2"),
        home.belljar, home.server.url,
    )  # fmt: skip
    lines = re.findall(r"^(ok|not ok) (.*)$", done.stdout, re.MULTILINE)
    good = [name for word, name in lines if word == "ok"]
    if len(good) != 10 or done.returncode != 0:
        print(done.stdout + done.stderr)
    return len(good), 10 - len(good)


def others_config(node, place, directory, port):
    """The published servers, over pipes, and one of them over HTTP, too."""
    with open(os.path.join(directory, "servers.toml"), "w", encoding="utf-8") as file:
        for name in SERVERS:
            program = os.path.join(place, name, f"node_modules/@modelcontextprotocol/server-{name}/dist/index.js")
            arguments = [program] + [directory] * (name == "filesystem")
            env = f'env = {{ MEMORY_FILE_PATH = "{directory}/memory.jsonl" }}' if name == "memory" else ""
            file.write(f'[servers.{name.replace("-", "_")}]\ncommand = "{node}"\nargs = {json.dumps(arguments)}\n{env}\ntools = {{ "*" = "allow" }}\n')
        file.write(f'[servers.web]\nurl = "http://127.0.0.1:{port}/mcp"\ntools = {{ "*" = "allow" }}\n')
    return file.name


# A join of a file and a graph, of two servers; then something of each of the others.
OTHERS = """
import json, servers
from servers import filesystem, memory, everything, web, sequential_thinking
memory.create_entities([{"name": f"person {n}", "entityType": "person", "observations": ["lives in " + ("Bern" if n % 3 else "Basel")]} for n in range(60)])
orders = filesystem.read_text_file(DIRECTORY + "/orders.csv")["content"].split()
city = {e["name"]: e["observations"][0].split()[-1] for e in memory.read_graph()["entities"]}
total = {}
for line in orders:
    person, amount = line.split(",")
    total[city["person " + person]] = total.get(city["person " + person], 0) + int(amount)
best = max(total, key=total.get)
whole = len(json.dumps(memory.read_graph())) + sum(map(len, orders))
print(json.dumps({
    "join": f"{best} {total[best]}", "whole": whole, "tools": len(servers.search(limit=1000)),
    "sums": [everything.get_sum(2, 3), web.get_sum(2, 3)], "weather": sorted(everything.get_structured_content("Chicago")),
    "picture": any(isinstance(p, dict) and p["data"][:4] == b"\\x89PNG" for p in web.get_tiny_image()),
    "thought": sequential_thinking.sequentialthinking("so", False, 1, 1)["thoughtNumber"],
}))
"""


def others(home, node, place):
    """Tools of published servers as functions inside."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with open(os.path.join(home.directory, "orders.csv"), "w", encoding="utf-8") as file:
        file.write("".join(f"{n % 60},{n * 7 % 50}\n" for n in range(300)))
    everything = os.path.join(place, "everything/node_modules/@modelcontextprotocol/server-everything/dist/index.js")
    web = subprocess.Popen([node, everything, "streamableHttp"], env={**home.env, "PORT": str(port)}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        while "listening" not in (line := web.stderr.readline()):
            if not line:
                raise RuntimeError("the server over HTTP does not start")
        done = home.run(home.belljar, "run", "--config", others_config(node, place, home.directory, port), "--timeout", "120", "-c", OTHERS.replace("DIRECTORY", repr(home.directory)))
    finally:
        web.kill()
        web.communicate()
    try:
        seen = json.loads(done.stdout)
    except ValueError:
        print(f"    FAILED other servers: {done}")
        return 0, 7
    amounts = {city: sum(n * 7 % 50 for n in range(300) if (n % 60 % 3 != 0) == (city == "Bern")) for city in ("Bern", "Basel")}
    best = max(amounts, key=amounts.get)
    checks = {
        "join": seen["join"] == f"{best} {amounts[best]}", "tools": seen["tools"] >= 40, "sums": all("5" in text for text in seen["sums"]),
        "weather": "temperature" in seen["weather"], "picture": seen["picture"], "thought": seen["thought"] == 1,
        "size": seen["whole"] > 50 * len(seen["join"]),
    }  # fmt: skip
    print(f"other servers: {seen['tools']} tools; a join of two says {len(seen['join'])} characters, the lists it reads have {seen['whole']}")
    for name in (name for name, good in checks.items() if not good):
        print(f"    FAILED other servers, {name}: {seen}")
    return sum(checks.values()), len(checks) - sum(checks.values())


def inspector(home, node, place):
    program = os.path.join(place, "inspector/node_modules/.bin/mcp-inspector")
    failed, ways = 0, [[home.belljar, "mcp"], [home.server.url + "/sse", "--transport", "sse"]]
    ways += [[home.server.url + "/mcp", "--transport", "http", "--protocol-era", era] for era in ("legacy", "auto", "modern")]
    for way in ways:
        done = home.run(node, program, "--cli", *way, "--method", "tools/list", "--strict", "--format", "json", "-q")
        if done.returncode != 0 or "execute_python_code" not in done.stdout:
            print(f"    FAILED inspector {' '.join(way[1:])}: {done.returncode} {done.stdout[:500]} {done.stderr[:500]}")
            failed += 1
    return len(ways) - failed, failed


def real(home, node, place):
    """`belljar setup` writes the settings, and the client itself says what it thinks of them."""
    failed = 0
    for client, name, word in (("claude-code", "claude", "Connected"), ("gemini", "gemini", "Connected"), ("codex", "codex", "enabled")):
        path = f"{os.path.join(place, name)}/node_modules/.bin:{home.env['PATH']}"
        done = home.run(home.belljar, "setup", client, PATH=path, GEMINI_CLI_TRUST_WORKSPACE="true")
        print(f"{client}: {done.stdout.strip().splitlines()[-1]}")
        removed = home.run(home.belljar, "setup", client, "--remove", PATH=path)
        if done.returncode != 0 or word not in done.stdout or removed.returncode != 0:
            print(f"    FAILED {client}: {done} {removed}")
            failed += 1
    return 3 - failed, failed


def main(arguments):
    has_clients = "--clients" in arguments
    build = next((a for a in arguments if not a.startswith("--")), "build")
    place = os.path.abspath(os.path.join(build, "conformance"))
    try:
        node = prepare(place, {**PACKAGES, **SERVERS, **(CLIENTS if has_clients else {})})
    except (npm.Unavailable, subprocess.TimeoutExpired) as reason:
        print(f"skipped: {reason}")
        return 77
    results = [suite(node, place, build)]
    home = Home(build, node)
    try:
        for title, step in [("SDK clients", sdks), ("other servers", others)] + [("inspector", inspector), ("clients", real)] * has_clients:
            results.append(step(home, node, place))
            print(f"{title}: {results[-1][0]} of {sum(results[-1])}")
    finally:
        status = home.close()
    results.append((int(status == 0), int(status != 0)))
    passed, failed = (sum(column) for column in zip(*results))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main(sys.argv[1:]))
