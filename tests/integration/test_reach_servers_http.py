"""Other MCP servers behind a URL: both eras, JSON and events, sessions that end, and servers that break the rules."""
import json
import subprocess
import textwrap
import uuid
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[1] / "upstream" / "good_http.py"
TOKEN = "upstream-token-" + uuid.uuid4().hex


@pytest.fixture(scope="module")
def who(callers):
    return callers["user"]


@pytest.fixture(scope="module")
def start():
    """Starts a server and gives its address."""
    running = []

    def go(*arguments):
        process = subprocess.Popen(["/usr/bin/python3", str(PROGRAM), *arguments], stdout=subprocess.PIPE)
        running.append(process)
        return f"http://127.0.0.1:{int(process.stdout.readline())}"

    yield go
    for process in running:
        process.kill()
        process.communicate()


def settings(who, servers):
    text = "".join(f'[servers.{name}]\nurl = "{url}"\n{more}\n' for name, (url, more) in servers.items())
    return who.file(f"http-{uuid.uuid4().hex}.toml", text)


def run(who, servers, code, **more):
    done = who.run(textwrap.dedent(code), "--config", settings(who, servers), profile="standard", **more)
    assert done.code == 0, done
    return json.loads(done.json["stdout"])


@pytest.mark.parametrize("arguments", [["--era=legacy"], ["--era=legacy", "--events"], ["--era=modern"], ["--era=modern", "--events"]])
def test_a_server_with_a_url_is_listed_and_called(who, start, arguments):
    url = start(*arguments) + "/mcp"
    assert run(who, {"web": (url, "")}, """
        import json
        from servers.web import add, people, echo_text
        print(json.dumps([add(40), len(people()["people"]), echo_text("é" * 1000) == "é" * 1000]))""") == [{"sum": 42}, 60, True]  # fmt: skip


def test_localhost_and_names_are_found(who, start):
    url = start().replace("127.0.0.1", "localhost") + "/mcp"
    assert run(who, {"web": (url, ""), "lost": ("http://no-such-host.invalid/mcp", "")}, """
        import json
        from servers import web, lost
        try:
            lost.anything
        except Exception as error:
            said = str(error)
        print(json.dumps([web.add(1), said]))""") == [{"sum": 3}, "server `lost`: start: there is no host `no-such-host.invalid`: no address is known for the name"]  # fmt: skip


def test_headers_are_sent_and_never_shown(who, start):
    url = start(f"--token={TOKEN}") + "/mcp"
    servers = {"web": (url, f'headers = {{ Authorization = "Bearer {TOKEN}" }}'), "bare": (url, "")}
    seen = run(who, servers, f"""
        import json
        from servers import web, bare
        try:
            bare.add(1)
        except Exception as error:
            said = str(error)
        print(json.dumps([web.add(1), said, web.echo_text("upstream-token-" + {TOKEN[15:]!r})]))""")
    assert seen[0] == {"sum": 3} and "refuses the request (HTTP 401)" in seen[1]
    assert TOKEN not in json.dumps(seen)


def test_headers_do_not_travel_in_clear(who):
    servers = {"far": ("http://192.0.2.1/mcp", 'headers = { Authorization = "Bearer 12345678" }')}
    seen = run(who, servers, """
        import json
        from servers import far
        try:
            far.anything
        except Exception as error:
            print(json.dumps(str(error)))""")
    assert "does not use TLS" in seen


def test_certificates_are_checked(who, start, tmp_path):
    both, cert = tmp_path / "both.pem", tmp_path / "cert.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", both, "-out", cert,
                    "-days", "2", "-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)  # fmt: skip
    both.write_text(both.read_text() + cert.read_text())
    trusted = who.file(f"cert-{uuid.uuid4().hex}.pem", cert.read_text())
    url = start(f"--tls={both}").replace("http:", "https:")
    code = """
        import json, servers
        def what(server):
            try:
                return server.add(1)
            except Exception as error:
                return str(error)
        print(json.dumps([what(servers.web), what(servers.other)]))"""
    servers = {"web": (url + "/mcp", ""), "other": (url.replace("127.0.0.1", "localhost") + "/mcp", "")}
    strange = run(who, servers, code)
    assert all("the server's certificate: self-signed" in said for said in strange), strange
    known = run(who, servers, code, env={"SSL_CERT_FILE": str(trusted)})
    assert known[0] == {"sum": 3} and "the server's certificate: hostname mismatch" in known[1].lower()


def test_a_session_that_ended_is_begun_anew(who, start):
    url = start("--era=legacy") + "/mcp"
    seen = run(who, {"web": (url, "")}, """
        import json, time
        from servers.web import add, fail
        def what(f):
            try:
                return f()
            except Exception as error:
                return str(error)
        def again():  # what is asked while the old session is being given up is told so
            for _ in range(100):
                got = what(lambda: add(3))
                if got == {"sum": 5}:
                    break
                time.sleep(0.05)
            return got
        print(json.dumps([what(f) for f in (lambda: add(1), fail, lambda: add(2), again)]))""")
    assert seen[0] == {"sum": 3} and "no luck" in seen[1] and "HTTP 404" in seen[2] and seen[3] == {"sum": 5}


def test_a_server_that_breaks_the_rules_harms_only_the_call(who, start):
    url = start()
    kinds = {"status": "malformed HTTP response", "cut": "ended its answer early", "elsewhere": "the server redirects (HTTP 302)", "html": "has no result",
             "endless": "is not complete", "head": "malformed HTTP response", "unavailable": "HTTP 503"}  # fmt: skip
    kinds |= dict.fromkeys(["both", "lengths", "extension", "trailer", "folded", "sessions"], "malformed HTTP response")
    servers = {kind: (f"{url}/bad/{kind}", "") for kind in kinds}
    servers["refused"] = ("http://127.0.0.1:1/", "")
    servers["good"] = (f"{url}/mcp", "")
    seen = run(who, servers, """
        import json, servers
        said = {}
        for name in servers.names():
            try:
                said[name] = getattr(servers, name).add(1)
            except Exception as error:
                said[name] = str(error)
        print(json.dumps(said))""")
    assert seen.pop("good") == {"sum": 3}
    assert "no connection" in seen.pop("refused")
    assert seen.keys() == kinds.keys()
    for kind, words in kinds.items():
        assert words in seen[kind], (kind, seen[kind])


def test_a_server_that_asks_without_end_gets_a_few_connections(who, start):
    url = start("--era=legacy", "--pings=1000") + "/mcp"
    seen = run(who, {"web": (url, "")}, """
        import json
        from servers.web import add
        print(json.dumps(add(1)))""")
    assert 1 <= seen["sum"] <= 16, "each reply is a connection"
