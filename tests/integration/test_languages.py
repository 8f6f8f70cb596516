"""JavaScript and TypeScript at three doors, and what the table of languages decides: names, files, what is missing."""
import shutil
import subprocess

import pytest

import mcp
import serving

pytestmark = [
    pytest.mark.usefixtures("watch"),
    pytest.mark.skipif(not shutil.which("node"), reason="nodejs is not installed"),
]
needs_esbuild = pytest.mark.skipif(not shutil.which("esbuild"), reason="esbuild is not installed")


@pytest.fixture(scope="module")
def who(callers):
    return callers.get("user") or callers["root"]


@pytest.fixture(scope="module")
def server(who):
    s = serving.Server(who)
    yield s
    assert s.stop() == 0, s.said


@pytest.fixture
def session(server):
    with server.session() as name:
        yield lambda code, language="javascript", **more: server.execute(name, code, language=language, **more)


def run(server, code, language="javascript", **more):
    return server.run(code, language=language, profile="open", **more)


# --- where the language comes from ---


@pytest.mark.smoke
@pytest.mark.parametrize(
    "name, text, out",
    [
        ("a.js", "console.log(typeof require, require.main === module, __filename)", "function true /workspace/a.js\n"),
        ("a.cjs", "module.exports = 1; console.log(typeof exports)", "object\n"),
        ("a.mjs", "import { EOL } from 'os'; console.log(JSON.stringify(EOL), await 1, typeof module)", '"\\n" 1 object\n'),
        ("module.js", "import os from 'node:os';\nexport const x = 1;\nconsole.log(typeof os.EOL)", "string\n"),
        ("tool", "#!/usr/bin/env node\nconsole.log('by its first line')", "by its first line\n"),
        ("names.js", "console.log(typeof fs, typeof process, typeof URL, typeof fetch)", "undefined object function function\n"),
        ("args.js", "console.log(process.argv.slice(2).join())", "a,--timeout\n"),
    ],
)
def test_files(who, name, text, out):
    answer = who.call("run", who.file(name, text), *(["a", "--timeout"] if name == "args.js" else []))
    assert (answer.code, answer.text, answer.errors) == (0, out, ""), answer  # no warning of node's


@needs_esbuild
@pytest.mark.parametrize("name", ["a.ts", "a.mts"])
def test_typed_files(who, name):
    text = "import { EOL } from 'os';\ninterface P { x: number }\nenum E { A = 4 }\nconst p: P = { x: E.A };\nconsole.log(p.x as number, EOL.length);\n"
    answer = who.call("run", who.file(name, text))
    assert (answer.code, answer.text) == (0, "4 1\n"), answer


@pytest.mark.parametrize("word", ["javascript", "js", "node", "JavaScript"])
def test_names(server, word):
    assert run(server, "6 * 7", language=word)["result"] == {"text": "42", "json": 42}


@pytest.mark.parametrize("word, code", [("py", "print(1)"), ("sh", "echo 1"), ("shell", "echo 1")])
def test_short_names_of_the_others(server, word, code):
    assert run(server, code, language=word)["stdout"] == "1\n"


@pytest.mark.parametrize("name, text", [("a.rb", "puts 1"), ("a.jsx", "1"), ("tool", "#!/usr/bin/perl\nprint 1"), ("plain", "1")])
def test_other_files_are_refused_with_the_list(who, name, text):
    answer = who.call("run", who.file(name, text))
    assert answer.code == 64 and not answer.out, answer
    assert "JavaScript (.js .mjs .cjs)" in answer.errors and "Python (.py .ipynb)" in answer.errors, answer


def test_unknown_languages_are_refused_with_the_list(who):
    answer = who.call("run", "-l", "cobol", "-c", "1")
    assert answer.code == 64 and "Python, Bash, JavaScript and TypeScript are supported" in answer.errors, answer
    assert "did you mean `javascript`?" in who.call("run", "-l", "javascrip", "-c", "1").errors


# --- the result ---


@pytest.mark.parametrize(
    "code, text, value",
    [
        ("const a = [1, 2]; a.map(x => x * 2)", "[ 2, 4 ]", [2, 4]),
        ("const result = {a: 1}; 5", "{ a: 1 }", {"a": 1}),
        ("module.exports = {b: 'two'}", "{ b: 'two' }", {"b": "two"}),
        ("export default [3]", "[ 3 ]", [3]),
        ("await Promise.resolve('late')", "'late'", "late"),
        ("Promise.resolve(4)", "4", 4),
        ("new Map([[1, 2]])", "Map(1) { 1 => 2 }", None),
        ("10n", "10n", None),
        ("const a = {}; a.a = a", "<ref *1> { a: [Circular *1] }", None),
        ("null", "null", None),
    ],
)
def test_results(server, code, text, value):
    result = run(server, code)
    assert result["status"] == "success" and result["result"] == {"text": text, "json": value}, result


@pytest.mark.parametrize("code", ["console.log(1)", "let a = 1", "setTimeout(() => 1, 1)", "'use strict'; let b = 2", "process.on('exit', () => {})", ""])
def test_programs_without_a_result(server, code):
    assert run(server, code + "\n;let end = 1")["result"] is None


def test_a_value_that_cannot_be_shown_is_no_failure(server):
    code = "({[Symbol.for('nodejs.util.inspect.custom')]() { throw 1 }, toJSON() { throw 2 }})"
    result = run(server, code)
    assert result["status"] == "success" and result["result"]["json"] is None, result


# --- errors ---


@pytest.mark.parametrize(
    "code, name, line, column",
    [
        ("let a = 1;\nfunction f(x) {\n  return x.y.z;\n}\nf({});", "TypeError", 3, 14),
        ("let a = 1;\nlet b = ;", "SyntaxError", 2, 9),
        ("import fs from 'fs';\nlet b = );", "SyntaxError", 2, 9),
        ("await 1;\n  throw new RangeError('r')", "RangeError", 2, 9),
        ("setTimeout(() => {\n  null.x;\n}, 1)", "TypeError", 2, 8),
        ("\nPromise.reject(new Error('e'))", "Error", 2, 16),
        ("class MyError extends Error { constructor(m) { super(m); this.name = 'MyError' } }\nthrow new MyError('m')", "MyError", 2, 7),
    ],
)
def test_errors_have_a_place(server, code, name, line, column):
    result = run(server, code)
    error = result["error"]
    assert (result["status"], result["exit_code"]) == ("error", 1), result
    assert (error["name"], error["line"], error["column"]) == (name, line, column), error
    assert "[eval]" not in error["traceback"] and "node:" not in error["traceback"], error
    assert result["stderr"] == error["traceback"] and f"<program>:{line}" in error["traceback"], result


@needs_esbuild
@pytest.mark.parametrize(
    "code, name, line",
    [
        ("interface A {\n  x: number\n}\n\nfunction f(a: A): never {\n  throw new Error('at ' + a.x);\n}\nf({x: 1});", "Error", 6),
        ("let a: number = 1;\n\nlet b: string = @;", "SyntaxError", 3),
    ],
)
def test_errors_are_at_the_line_that_was_written(server, code, name, line):
    error = run(server, code, language="typescript")["error"]
    assert (error["name"], error["line"]) == (name, line), error


@needs_esbuild
def test_programs_of_several_typed_files(server):
    files = [
        {"path": "lib/area.ts", "content": "export interface R { w: number }\n\nexport function area(r: R): number {\n  if (!r.w) throw new RangeError('w');\n  return r.w;\n}\n"},
        {"path": "wrong.ts", "content": "\nlet x: = 1"},
    ]
    use = "import { area, R } from './lib/area';\nimport { EOL } from 'os';\nconst r: R = { w: %d };\nexport const result = area(r) + EOL.length;\n"
    assert run(server, use % 4, language="typescript", files=files)["result"]["json"] == 5
    for code, name, line, file in ((use % 0, "RangeError", 4, "lib/area.ts:4"), ("import './wrong'", "SyntaxError", 2, "wrong.ts:2"), ("\nimport './nope'", "Error", 2, "<program>:2")):
        error = run(server, code, language="typescript", files=files)["error"]
        assert (error["name"], error["line"]) == (name, line) and error["traceback"].startswith(file), error


def test_what_is_thrown_may_be_anything(server):
    error = run(server, "throw {a: 1}")["error"]
    assert (error["name"], error["message"]) == ("Uncaught", "{ a: 1 }")
    code = "throw new Proxy(new Error('x'), {get(t, k) { if (k === 'stack') throw 1; return t[k] }})"
    assert run(server, code)["status"] == "error"


@pytest.mark.parametrize(
    "code, hint",
    [
        ("require('left-pad')", "node_modules"),
        ("require('fs').readFileSync('data.csv')", "relative paths begin in /workspace"),
        ("require('fs').writeFileSync('/etc/x', '')", "writable here"),
        ("fetch('https://example.org').then(r => r.text())", "no host is granted"),
    ],
)
def test_errors_have_hints(server, code, hint):
    error = run(server, code)["error"]
    assert error["hint"] and hint in error["hint"], error


def test_stacks_that_a_program_prints_are_its_own(server):
    code = "function f() { return new Error('x') }\ntry { require('nope') } catch (e) { console.log(e.stack.includes('[eval]')) }\nconsole.log(f())"
    assert run(server, code)["stdout"] == "false\nError: x\n    at f (<program>:1:23)\n    at <program>:3:13\n"
    code = "process.on('uncaughtException', e => console.log('caught', e.message));\nsetTimeout(() => console.log('on'), 1);\nnull.x"
    result = run(server, code)
    assert result["status"] == "success" and result["stdout"].startswith("caught ") and result["stdout"].endswith("on\n"), result


# --- ends and limits ---


@pytest.mark.parametrize("code, exit_code", [("process.exit(7)", 7), ("process.exitCode = 3", 3), ("process.kill(process.pid, 'SIGKILL')", 137)])
def test_exit_codes(who, code, exit_code):
    assert who.call("run", "-l", "js", "-c", code).code == exit_code


@pytest.mark.parametrize(
    "code, flags, status",
    [
        ("while (true) {}", ("--timeout", "1"), "timeout"),
        ("setInterval(() => {}, 1000)", ("--timeout", "1"), "timeout"),
        ("const a = []; while (true) a.push(new Array(10000).fill(Math.random()))", ("--memory", "128", "--timeout", "60"), "memory_exceeded"),
        ("const a = []; while (true) a.push(Buffer.alloc(1 << 20, 1))", ("--memory", "128", "--timeout", "60"), "memory_exceeded"),
    ],
)
def test_limits(who, code, flags, status):
    answer = who.run(code, "-l", "js", *flags).json
    if status == "memory_exceeded" and not {"cgroup-v1", "cgroup-v2"} & set(answer["layers"]):
        assert answer["status"] in (status, "error"), answer
    else:
        assert answer["status"] == status, answer


def test_output_is_bounded(server):
    code = "const line = 'x'.repeat(999) + '\\n'; for (let i = 0; i < 5000; i++) process.stdout.write(line)"
    result = run(server, code, output_bytes=10000)
    assert result["status"] == "success" and result["truncated"]["stdout"] and len(result["stdout"]) < 20000


def test_all_output_reaches_a_pipe(who):
    answer = who.call("run", "-l", "js", "-c", "for (let i = 0; i < 20000; i++) console.log(i)")
    assert answer.code == 0 and answer.out == b"".join(b"%d\n" % i for i in range(20000))


def test_standard_input(who):
    code = "let all = ''; process.stdin.on('data', d => all += d).on('end', () => console.log(all.length))"
    assert who.call("run", "-l", "js", "-c", code, input=b"x" * 300000).out == b"300000\n"
    assert who.call("run", "-l", "js", "-c", "console.log(require('fs').readFileSync(0, 'utf8'))", input=b"in").out == b"in\n"


def test_checks(who):
    assert who.call("run", "--check", "-l", "js", "-c", "console.log('ran')").out == b"no problems found\n"
    answer = who.call("run", "--check", "-l", "js", "-c", "console.log('ran'); let a = ;")
    assert answer.code == 1 and b"ran\n" not in answer.out and "SyntaxError" in answer.errors, answer


def test_seeds_repeat(who):
    code = "console.log(Math.random(), require('crypto').randomBytes(4).toString('hex'), Date.now())"
    first, again, other = (who.call("run", "--seed", s, "-l", "js", "-c", code).out for s in ("5", "5", "6"))
    assert first == again and first != other


# --- profiles ---


def test_strict_does_not_run_what_it_cannot_read(who):
    answer = who.call("run", "--profile", "strict", "-l", "ts", "-c", "1")
    assert answer.code == 77 and "no policy can read TypeScript" in answer.errors, answer
    assert "use the profile `standard` or `open`" in answer.errors, answer


def test_a_profile_must_name_the_language(who):
    profile = who.file("own.toml", 'inherits = "standard"\nlanguages = ["-javascript"]\n')
    answer = who.call("run", "--profile", profile, "-l", "js", "-c", "1")
    assert answer.code == 77 and "does not run javascript" in answer.errors, answer


# --- a host without it ---


def test_a_missing_program_is_named_with_its_package(callers, tmp_path):
    if "root" not in callers:
        pytest.skip("hiding a program takes root")
    who, hidden = callers["root"], tmp_path / "node"
    hidden.write_text("")  # not executable
    script = 'for p in node esbuild; do for d in /usr/local/bin /usr/bin; do [ ! -e $d/$p ] || mount --bind "$0" $d/$p; done; done; exec "$@"'
    for language in ("js", "ts"):
        words = ["unshare", "-m", "--propagation", "slave", "sh", "-c", script, str(hidden), str(who.program)]
        done = subprocess.run([*words, "run", "-l", language, "-c", "1"], capture_output=True, text=True, env=who.environment())
        assert done.returncode == 125 and "needs the package `nodejs`, which is not installed" in done.stderr, done
        assert "can install it: apt-get install nodejs" in done.stderr and "ask the user" not in done.stderr, done


# --- HTTP ---


def test_the_server_tells_what_it_can_run(server):
    known = {l["name"]: l for l in server.get("/v1/languages").json["languages"]}
    assert list(known) == ["python", "bash", "javascript", "typescript"]
    assert known["javascript"]["available"] and known["javascript"]["needs"] == ["nodejs"]
    assert known["typescript"]["available"] == bool(shutil.which("esbuild"))
    assert "js" in known["javascript"]["aliases"] and ".mjs" in known["javascript"]["suffixes"]
    listed = server.get("/languages").json["languages"]
    assert {"python", "bash", "javascript"} <= set(listed) and "node" in listed["javascript"]["aliases"]


def test_an_unknown_language_is_refused_with_the_list(server):
    reply = server.post("/v1/run", {"code": "1", "language": "ruby"})
    assert reply.status == 400 and "python, bash, javascript, typescript" in reply.json["error"]["message"], reply


def test_modules_find_the_files_of_the_run(server):
    files = [{"path": "lib/a.mjs", "content": "export const a = 4"}, {"path": "b.js", "content": "exports.b = 5"}]
    code = "import { a } from './lib/a.mjs'; import b from './b.js'; console.log(a, b.b, (await import('./lib/a.mjs')).a)"
    assert run(server, code, files=files)["stdout"] == "4 5 4\n"
    assert run(server, "console.log(require('./b').b)", files=files)["stdout"] == "5\n"


def test_cells_keep_their_variables(session):
    assert session("const x = 1; let y = [x, 2]; function twice(n) { return 2 * n }")["status"] == "success"
    assert session("const x = 5; twice(x) + y.length")["result"]["json"] == 12, "a name may be declared again"
    assert session("import fs, { existsSync as is } from 'fs';\nimport * as path from 'path';\nis('/') && path.sep")["result"]["json"] == "/"
    assert session("const os = await import('os'); `import('x') ${typeof os.EOL}`")["result"]["json"] == "import('x') string"
    assert session("fs.writeFileSync('shared', 'js'); result = 3; 4")["result"]["json"] == 3
    assert session("5")["result"]["json"] == 5, "`result` of an earlier cell is not this one's"
    assert session("cat shared", "bash")["stdout"] == "js"
    assert session("print(open('shared').read())", "python")["stdout"] == "js\n"


@needs_esbuild
def test_typed_cells_share_them(session):
    session("var n = 20")
    assert session("const m: number = n + 1; m as number", "typescript")["result"]["json"] == 21
    assert session("m + n")["result"]["json"] == 41
    error = session("type T = string;\n\nfunction f(t: T) { throw new Error(t) }\nf('x')", "ts")["error"]
    assert (error["message"], error["line"]) == ("x", 3), error


def test_cells_wait_for_what_they_started(session):
    assert session("setTimeout(() => console.log('later'), 50); console.log('now')")["stdout"] == "now\nlater\n"
    result = session("setTimeout(() => {\n  throw new TypeError('late') }, 5); 1")
    assert (result["error"]["name"], result["error"]["line"]) == ("TypeError", 2), result
    assert "nothing will settle" in session("await new Promise(() => {})")["error"]["message"]
    assert session("1 + 1")["result"]["json"] == 2


@pytest.mark.parametrize("code", ["while (true) {}", "await new Promise(done => setTimeout(done, 1e6))", "setInterval(() => {}, 10)"])
def test_a_stopped_cell_keeps_the_variables(session, code):
    session("var kept = 7")
    result = session(code, timeout_s=1)
    assert result["status"] == "timeout", result
    result = session("kept")
    assert result["result"]["json"] == 7 and result["status"] == "success", result


def test_ends_of_cells(session):
    session("var kept = 8")
    assert session("process.exit(3)")["exit_code"] == 3
    assert session("setTimeout(() => process.exit(4), 1)")["exit_code"] == 4
    assert session("let a = ;")["error"]["column"] == 9
    assert session("kept")["result"]["json"] == 8
    assert session("process.reallyExit(5)")["exit_code"] == 5, "the kernel ends"
    assert session("typeof kept")["result"]["json"] == "undefined"


def test_standard_input_of_cells(session):
    assert session("require('fs').readFileSync(0, 'utf8')", stdin="one")["result"]["json"] == "one"
    assert session("process.stdin.on('data', d => console.log('got ' + d)); 0", stdin="two")["stdout"] == "got two\n"
    assert session("require('fs').readFileSync(0, 'utf8')")["result"]["json"] == ""


def test_copies_say_what_they_leave_out(server):
    with server.session() as name:
        server.execute(name, "x = 1")
        server.execute(name, "var y = 2", language="js")
        copied = server.post(f"/v1/sessions/{name}/fork", {"n": 1}).json
        other = copied["sessions"][0]["session_id"]
        assert any("languages" in lost for lost in copied["lost"]), copied
        assert server.execute(other, "x")["result"]["json"] == 1
        assert server.execute(other, "typeof y", language="js")["result"]["json"] == "undefined"
        assert server.execute(name, "y", language="js")["result"]["json"] == 2
        server.call("DELETE", f"/v1/sessions/{other}")
        assert server.post(f"/v1/sessions/{name}/restart", {"language": "js"}).status == 200
        assert server.execute(name, "typeof y", language="js")["result"]["json"] == "undefined"


# A program can say what it likes about itself, and no more.
@pytest.mark.parametrize(
    "code",
    [
        "require('fs').writeSync(62, Buffer.from('BJ\\x01\\x0c\\0\\0\\0\\0', 'latin1')); while (true) {}",  # WIRE_REFUSED
        "require('fs').writeSync(62, 'no frame at all'); setInterval(() => {}, 9)",
        "require('fs').closeSync(62); require('fs').closeSync(63)",
        "JSON.stringify = Buffer.concat = () => { throw 1 }; 5",
        "Object.prototype.toString = Array.prototype.push = null; 5",
    ],
)
def test_a_kernel_that_is_broken_is_replaced(session, code):
    session(code, timeout_s=3)
    assert session("6 * 7")["result"]["json"] == 42 or session("6 * 7")["result"]["json"] == 42


# --- MCP ---


def test_models_run_it_and_are_told_of_it(who):
    with mcp.Client(who) as c:
        c.initialize()
        assert c.text("run_code", {"code": "const n = 6; n * 7", "language": "javascript"}) == "[result] 42\n"
        assert c.text("run_code", {"code": "console.log(n)", "language": "js"}) == "6\n"
        assert "line 2" in c.text("run_code", {"code": "let a\na.b", "language": "js"})
        assert "JavaScript" in c.text("more", {"tool": "get_kernel_status", "arguments": {}})
        assert "javascript was restarted" in c.text("more", {"tool": "restart_kernel", "arguments": {"language": "node"}})
