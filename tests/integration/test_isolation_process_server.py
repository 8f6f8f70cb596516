"""`belljar serve` and `belljar mcp` with isolation `process`, in a simulated container."""
import mcp
import serving
from test_isolation_process import LEVEL, contained


def test_a_server_says_it_and_serves_runs_sessions_and_batches(who):
    with serving.Server(who, env=LEVEL, wrapper=contained()) as server:
        assert any("isolation is `process`" in line and "weaker" in line for line in server.said), server.said
        assert server.run("print(1)")["isolation"] == "process"
        made = server.call("POST", "/v1/sessions", {"name": "kept"})
        assert made.status == 201, made
        first = server.call("POST", "/v1/sessions/kept/execute", {"code": "x = 41\nopen('f', 'w').write('1')"}).json
        assert first["isolation"] == "process" and first["status"] == "success", first
        second = server.call("POST", "/v1/sessions/kept/execute", {"code": "x + 1"}).json
        assert second["result"]["json"] == 42, second
        bash = server.call("POST", "/v1/sessions/kept/execute", {"code": "cat f", "language": "bash"}).json
        assert bash["stdout"] == "1", bash
        for method, body in (("GET", None), ("PUT", b"x"), ("DELETE", None)):  # the host's /tmp is nobody's
            refused = server.call(method, "/v1/sessions/kept/files//tmp/f", body)
            assert refused.status == 501 and "no /tmp of its own" in refused.error["message"], refused
        copy = server.call("POST", "/v1/sessions/kept/fork", {"n": 1})
        assert copy.status >= 400 and "cannot be copied" in copy.error["message"], copy


def test_sandboxes_of_one_server_do_not_reach_each_other(who):
    with serving.Server(who, env={**LEVEL, "BELLJAR_PROFILE": "open"}, wrapper=contained()) as server:
        for name in ("one", "two"):
            assert server.call("POST", "/v1/sessions", {"name": name}).status == 201
        ask = lambda name, code: server.call("POST", f"/v1/sessions/{name}/execute", {"code": code}).json
        where = ask("one", "import os\nopen('secret', 'w').write('s')\nprint(os.getpid(), os.getcwd())")["stdout"].split()
        code = f"""
import os
for act in (lambda: open({where[1]!r} + '/secret'), lambda: os.listdir({where[1]!r}), lambda: os.kill({where[0]}, 9), lambda: os.chmod({where[1]!r}, 0),
            lambda: open({where[1]!r} + '/new', 'w'), lambda: open('/proc/{where[0]}/mem', 'rb')):
    try:
        act()
        print('REACHED')
    except OSError:
        pass
os.kill(-1, 9)  # Linux says yes to this, whomever it reached
print('tried')
"""
        assert ask("two", code)["stdout"] == "tried\n"
        assert ask("one", "open('secret').read()")["result"]["json"] == "s"


def test_mcp_names_the_level(who):
    with mcp.Client(who, env=LEVEL) as client:
        client.initialize()
        assert "isolation: process" in client.text("get_kernel_status")
