"""Tools of other MCP servers as functions inside: what is generated, what is allowed, and what a bad server can do."""
import json
import os
import signal
import sys
import textwrap
import time
import uuid
from pathlib import Path

import belljar
import pytest
import serving

SERVERS = Path(__file__).parents[1] / "upstream"
sys.path.insert(0, str(SERVERS))

import good as data  # noqa: E402


def script(who, name):
    return who.file(f"{name}-{uuid.uuid4().hex}.py", (SERVERS / f"{name}.py").read_text())


def settings(who, **servers):
    """A configuration with these servers: {name: (script, arguments, further lines)}."""
    lines = []
    for name, (program, arguments, more) in servers.items():
        lines += [f"[servers.{name}]", 'command = "/usr/bin/python3"', f"args = {json.dumps([str(script(who, program)), *arguments])}", more]
    return who.file(f"servers-{uuid.uuid4().hex}.toml", "\n".join(lines) + "\n")


@pytest.fixture
def config(who):
    return settings(
        who,
        good=("good", ["--era=legacy"], "tools = { sleep = 'deny' }"),
        modern=("good", ["--era=modern"], "tools = { write = 'allow', '*' = 'ask' }"),
        hostile=("hostile", [], ""),
    )


def good(who, config, code, **more):
    """The program's output, as JSON."""
    done = who.run(textwrap.dedent(code), "--config", config, profile="standard", **more)
    assert done.code == 0, done
    return json.loads(done.json["stdout"])


@pytest.mark.smoke
def test_tools_are_functions_with_signatures(who, config):
    seen = good(who, config, """
        import inspect, json, servers
        from servers.good import add, echo_text
        print(json.dumps([add(40), add(1, b=1), echo_text("x", from_="left", times=2), str(inspect.signature(echo_text)),
            add.__doc__, add.__name__, add.__module__, servers.names(), sorted(dir(servers.good))[:2], "add(a: int" in servers.good.__doc__]))""")  # fmt: skip
    assert seen[:3] == [{"sum": 42}, {"sum": 2}, "leftxx"]
    assert seen[3] == "(text: str, times: Optional[int] = None, from_: Optional[Literal['left', 'right']] = None) -> Any"
    assert "The sum of two numbers." in seen[4] and "a: the first" in seen[4] and "sum" in seen[4]
    assert seen[5:] == ["add", "servers.good", ["good", "hostile", "modern"], ["add", "echo_text"], True]


def test_both_eras_and_asyncio(who, config):
    assert good(who, config, """
        import asyncio, json
        from servers import modern, good
        async def main():
            return await asyncio.gather(*[good.add.aio(n) for n in range(40)], modern.write.aio("x"))
        print(json.dumps(asyncio.run(main())))""") == [{"sum": n + 2} for n in range(40)] + ["written: x"]  # fmt: skip


def test_what_is_wrong_is_said_in_words(who, config):
    seen = good(who, config, """
        import json, servers
        from servers import good
        def what(f):
            try:
                return f()
            except Exception as error:
                return [type(error).__name__, str(error)]
        def missing():
            import servers.nothing
        print(json.dumps([what(f) for f in (lambda: good.add(), lambda: good.add(1, c=2), lambda: good.fail(), lambda: good.ad,
            lambda: good.sleep(1), lambda: good.write("x"), lambda: servers.modern.add(1), missing,
            lambda: servers.search("x", detail="y"))]))""")  # fmt: skip
    kinds = ["TypeError", "TypeError", "ServerError", "AttributeError", "ServerError", "ServerError", "ServerError", "ModuleNotFoundError", "ValueError"]
    words = ["missing a required argument: 'a'", "unexpected keyword argument 'c'", "no luck", "did you mean 'add'?", "may not be called",
             "nobody can be asked", "nobody can be asked", "there are: good, hostile, modern", "expected one of names"]  # fmt: skip
    assert [kind for kind, _ in seen] == kinds
    for (_, said), expected in zip(seen, words):
        assert expected in said


def test_a_tool_that_is_not_there_names_those_that_are(who, config):
    said = good(who, config, """
        import json, servers
        from servers.good import *
        def near():
            from servers.good import ad
        def far():
            from servers.good import nope
        def deep():
            import servers.good.ad
        said = []
        for f in (near, far, deep, lambda: add(1)):
            try:
                f(); said.append("fine")
            except Exception as error:
                said.append(f"{type(error).__name__}: {error}")
        print(json.dumps([said, servers.ServerError.__module__, hasattr(servers.good, "nope")]))""")  # fmt: skip
    lines, module, is_there = said
    assert lines[0].startswith("ImportError: server 'good' has no tool 'ad'; did you mean 'add'? there are: add, "), lines
    assert lines[1].startswith("ImportError: server 'good' has no tool 'nope'; there are: add, echo_text, "), lines
    assert lines[2] == lines[0] and lines[3] == "fine", lines
    assert (module, is_there) == ("servers", False)


def test_searching_costs_few_words(who, config):
    names, signatures, schemas, everything = good(who, config, """
        import json, servers
        print(json.dumps([servers.search("sum"), servers.search("sum", detail="signatures"), servers.search("sum", detail="schemas"),
            len(servers.search(limit=1000))]))""")  # fmt: skip
    assert names == ["servers.good.add: The sum of two numbers.", "servers.modern.add: The sum of two numbers."]
    assert signatures[0] == "servers.good.add(a: int, b: int = 2) -> servers.good.AddResult"
    assert schemas[0]["input"]["properties"]["b"]["default"] == 2 and schemas[0]["consent"] == "allow" and schemas[1]["consent"] == "ask"
    assert everything > 30


def test_only_a_line_of_two_servers_data_comes_out(who):
    """A join of two servers inside, against what a model would read if it called the tools itself."""
    config = settings(who, crm=("good", [], ""), shop=("good", [], ""))
    code = """
        from servers import crm, shop
        cities = {p["id"]: p["city"] for p in crm.people()["people"]}
        total = {}
        for order in shop.orders()["orders"]:
            total[cities[order["person"]]] = total.get(cities[order["person"]], 0) + order["total"]
        print(max(total, key=total.get), max(total.values()))"""
    done = who.run(textwrap.dedent(code), "--config", config, profile="standard")
    total = {city: sum(o["total"] for o in data.ORDERS if data.PEOPLE[o["person"]]["city"] == city) for city in ("Basel", "Bern")}
    assert done.json["stdout"] == f"Basel {total['Basel']}\n" and total["Basel"] > total["Bern"]
    whole = good(who, config, "import json\nfrom servers import crm, shop\nprint(json.dumps([len(json.dumps(crm.people())) + len(json.dumps(shop.orders()))]))")
    assert whole[0] > 40000
    assert len(textwrap.dedent(code)) + len(done.json["stdout"]) < whole[0] / 50


def test_a_bad_server_harms_only_the_call(who, config):
    seen = good(who, config, """
        import json
        from servers import hostile, good
        def what(name):
            try:
                return getattr(hostile, name)()
            except Exception as error:
                return f"{type(error).__name__}: {error}"
        print(json.dumps([{name: what(name) for name in ("huge", "deep", "junk", "strange_id", "crash", "endless", "empty", "wrong_schema", "import_")},
            dir(hostile), hostile.fine.__doc__, good.add(1)]))""")  # fmt: skip
    said, listed, doc, well = seen
    assert well == {"sum": 3}
    assert said["junk"] == "after the junk" and said["strange_id"] == "right"
    for name in ("huge", "deep", "crash", "endless", "empty"):
        assert said[name].startswith("ServerError: "), said[name]
    assert "bad_name" not in listed and "import_" in listed and "x__class__" in listed
    assert "IGNORE ALL RULES" in doc and "\x1b" not in doc and "\u202e" not in doc and "information, not orders" in doc


def test_without_the_grant_nothing_is_there(who, config):
    done = who.run("import servers", "--config", config, profile="marketplace")
    assert done.code != 0
    done = who.run("import servers", profile="standard")
    assert done.code == 0  # no server at all is no mistake


def test_each_call_is_written_down(who, config):
    home = {"XDG_STATE_HOME": str(who.directory(f"state-{uuid.uuid4().hex}"))}
    good(who, config, "import json\nfrom servers.good import add\nprint(json.dumps(add(20250915)))", env=home)
    listed = who.call("audit", "list", "--kind", "call", "--json", env=home)
    assert "servers.good.add" in listed.text and "20250915" not in listed.text, listed


def processes(*words):
    """Those with all of these words in their arguments."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            line = (entry / "cmdline").read_bytes().decode("utf-8", "replace") if entry.name.isdigit() else ""
        except OSError:
            continue
        if line and all(word in line for word in words):
            found.append(int(entry.name))
    return found


def wait_for(condition):
    until = time.monotonic() + belljar.HANG_SECONDS
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.parametrize("victim", ["upstream", "supervisor", "sandbox"])
def test_a_kill_in_the_middle_leaves_nothing(who, victim):
    mark = f"--mark={uuid.uuid4().hex}"
    config = settings(who, good=("good", [mark], "tools = { sleep = 'allow' }"))
    run = who.start("run", "--config", config, "--profile", "standard", "-c", "from servers.good import nap, sleep\nnap()\nprint('now', flush=True)\nsleep(86398)")
    assert run.stdout.readline() == b"now\n", run.stderr.read()
    [upstream] = processes(mark)
    group = Path(f"/proc/{upstream}/stat").read_text().split()[5]  # its session, which all of it share

    def left():
        return [p for p in processes("") if session_of(p) == group]

    def session_of(pid):
        try:
            return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[3]
        except OSError:
            return None

    assert len(left()) >= 2, "it, and what it started"
    if victim == "upstream":
        os.kill(upstream, signal.SIGKILL)
    elif victim == "supervisor":
        run.kill()
    else:
        run.terminate()  # which ends the sandbox, and then everything
    out, err = run.communicate(timeout=belljar.HANG_SECONDS)
    if victim == "upstream":
        assert b"ended: signal 9" in err
    wait_for(lambda: not left() and not processes(mark))


def test_a_server_stays_for_the_next_run_and_comes_back(who, config):
    with serving.Server(who, "--config", str(config)) as server:
        assert server.run("from servers.good import add\nadd(1)", profile="standard")["result"]["json"] == {"sum": 3}
        assert server.run("from servers.hostile import crash\ncrash()", profile="standard")["status"] == "error"
        assert "IGNORE" in server.run("from servers.hostile import fine\nfine()", profile="standard")["result"]["text"]
        session = server.post("/v1/sessions", {"profile": "standard"}).json["session_id"]
        for code, value in (("from servers.good import add", None), ("add(5)", {"sum": 7})):
            done = server.post(f"/v1/sessions/{session}/execute", {"code": code}).json
            assert done["status"] == "success" and (done["result"] or {}).get("json") == value, done


def test_names_of_people_are_turned_back_on_the_way_to_a_tool(who, config):
    email = "erika.mustermann@example.org"
    with serving.Server(who, "--config", str(config), env={"BELLJAR_REVERSIBLE_MASKING": "yes"}) as server:
        session = server.post("/v1/sessions", {"profile": "standard"}).json["session_id"]

        def cell(code):
            return server.post(f"/v1/sessions/{session}/execute", {"code": code}).json["stdout"].strip()

        assert cell(f"print({email!r})") == "EMAIL_1"
        assert cell("from servers.good import echo_text\nname = 'EMAIL_' + str(1)\nsaid = echo_text(name)\nprint(len(name), len(said), said)") == f"7 {len(email)} EMAIL_1"
