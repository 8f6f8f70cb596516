"""The operator's functions: typed inside, checked outside, bounded, bound to the session, and ended with their callers."""
import json
import textwrap

import pytest

import serving
from hosts import Host

CONFIG = """
[functions.echo]
description = "Gives back what it was given."
severity = "read_only"
command = ["/usr/bin/python3", "{script}", "{{text}}", "n={{n}}"]
session = "session_id"
[functions.echo.parameters.text]
type = "string"
description = "anything"
maxLength = 20
[functions.echo.parameters.n]
type = "integer"
minimum = 0
default = 1

[functions.number]
description = "Says a number."
severity = "read_only"
command = ["/bin/echo", "{{i}}{{f}}"]
[functions.number.parameters.i]
type = "integer"
default = 1
[functions.number.parameters.f]
type = "number"
default = 1

[functions.behind]
description = "Says a number behind the options."
severity = "read_only"
command = ["/usr/bin/printf", "--", "{{text}}", "{{i}}"]
[functions.behind.parameters.text]
type = "string"
[functions.behind.parameters.i]
type = "integer"

[functions.plain]
description = "Says a line."
severity = "read_only"
command = ["/bin/echo", "a line"]
per_minute = 3

[functions.broken]
description = "Fails."
severity = "read_only"
command = ["/bin/sh", "-c", "echo reasons >&2; exit 3"]

[functions.slow]
description = "Does not end."
severity = "read_only"
timeout_s = 1
command = ["/bin/sh", "-c", "sleep 1000 & sleep 1000"]

[functions.endless]
description = "Writes for ever."
severity = "read_only"
command = ["/usr/bin/yes"]

[functions.drop]
description = "Drops a table."
severity = "destructive"
command = ["/bin/echo", "dropped", "{{table}}"]
[functions.drop.parameters.table]
type = "string"
enum = ["old", "older"]

[functions.allowed]
description = "Changes something, and nobody minds."
severity = "medium"
approval = "never"
command = ["/bin/echo", "changed"]

[functions.ours]
description = "For one profile."
severity = "read_only"
callers = ["open"]
command = ["/bin/echo", "for you"]
"""

SCRIPT = "import json, os, sys\nprint(json.dumps({'argv': sys.argv[1:], 'stdin': json.load(sys.stdin), 'env': sorted(os.environ)}))\n"


@pytest.fixture
def config(who):
    script = who.file("echo.py", SCRIPT)
    return who.file("functions.toml", CONFIG.format(script=script))


def run(who, config, code, *args, profile="standard", **more):
    return who.run("from servers import host, ServerError\n" + textwrap.dedent(code), "--config", config, *args, profile=profile, **more)


def attempt(call):
    return f"""
        try:
            print({call})
        except ServerError as error:
            print("error:", error)
    """


def test_a_function_is_a_function(who, config):
    answer = run(who, config, """
        import inspect
        print(inspect.signature(host.echo))
        print(host.echo.__doc__.splitlines()[0])
        got = host.echo("it's {n}; $HOME", n=7)
        print(got["argv"], got["stdin"]["n"], [name for name in got["env"] if "TOKEN" in name or "SECRET" in name])
        print(host.plain())
    """)  # fmt: skip
    lines = answer.json["stdout"].splitlines()
    assert lines[0] == "(text: str, n: int = 1) -> Any", answer
    assert lines[1] == "Gives back what it was given."
    assert lines[2] == "[\"it's {n}; $HOME\", 'n=7'] 7 []"
    assert lines[3] == "a line"


def test_a_dash_behind_the_end_of_options_is_a_value(who, config):
    answer = run(who, config, "print(host.behind(text='%s!', i=-9), host.behind(text='-n%s', i=1), host.number(i=1, f=-1.5))")
    assert answer.json["stdout"].split() == ["-9!", "-n1", "1-1.5"], answer


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("host.echo('x' * 21)", "at most 20"),
        ("host.echo('x', n=-1)", "at least 0"),
        ("host.echo('x', n='1')", "of type integer"),
        ("host.echo('--help')", "begins with a dash"),
        ("host.number(i=-9)", "`i` begins with a dash"),
        ("host.number(i=-9, f=1.5)", "`i` begins with a dash"),
        ("host.number(i=-1, f=-1.5)", "`i` begins with a dash"),
        ("host.echo('-')", "begins with a dash"),
        ("host.echo('a\\0b')", "NUL"),
        ("host.broken()", "exit code 3: reasons"),
        ("host.slow()", "within 1 seconds"),
        ("host.endless()", "more than 1048576 bytes"),
        ("host.drop('old')", "needs approval"),
        ("host.ours()", "not for programs of the profile `standard`"),
        ("[host.plain() for _ in range(4)]", "3 times a minute"),
    ],
)
def test_what_goes_wrong_is_said(who, config, watch, call, said):
    answer = run(who, config, attempt(call))
    assert answer.json["stdout"].startswith("error:") and said in answer.json["stdout"], answer


REQUESTS = """
[functions.find]
description = "Finds one."
severity = "read_only"
request = "GET {url}/items/{{id}}?deep={{deep}}"
headers = {{ Authorization = "Bearer ${{FIND_KEY}}" }}
parameters.id = {{ type = "string" }}
parameters.deep = {{ type = "boolean", default = false }}

[functions.put]
description = "Puts one."
approval = "never"
request = "POST {url}/items/{{id}}"
session = "session"
parameters.id = {{ type = "string" }}
parameters.value = {{ type = "object" }}

[functions.missing]
description = "There is none."
severity = "read_only"
request = "GET {url}/missing"
"""


def test_a_function_can_be_a_request(who):
    answers = {"/missing": (404, {}, b"no"), "/items/a%2F%2E%2E%2Fb%20c%3Fx": (200, {"Content-Type": "application/json"}, b'{"found": 1}')}
    with Host(answers=answers) as service:
        config = who.file("requests.toml", REQUESTS.format(url=service.url))
        answer = run(who, config, """
            print(host.find("a/../b c?x", deep=True), host.put("1", {"a": [2]}))
            try:
                host.missing()
            except ServerError as error:
                print("error:", error)
        """, env={"FIND_KEY": "k-4711-4711-4711"})  # fmt: skip
    assert answer.json["stdout"] == "{'found': 1} hello\nerror: `missing` failed with exit code 1: the host answered with status 404\n", answer
    get, post, _ = service.seen
    assert get[:2] == ("GET", "/items/a%2F%2E%2E%2Fb%20c%3Fx?deep=true") and get[2]["Authorization"] == "Bearer k-4711-4711-4711"
    assert post[:2] == ("POST", "/items/1") and json.loads(post[3]) == {"value": {"a": [2]}, "session": answer.json["id"]}


def test_who_may_is_the_operators_to_say(who, config):
    assert run(who, config, "print(host.ours(), host.allowed())", profile="open").json["stdout"] == "for you\n changed\n\n"
    assert run(who, config, "1", profile="strict").status == "refused"


def test_a_function_knows_the_session_and_not_from_the_program(who, config):
    server = serving.Server(who, "--config", str(config))
    try:
        session = server.post("/v1/sessions", {"name": "course-7", "profile": "open", "env": {"SESSION_ID": "another"}}).json["session_id"]
        code = "from servers import host\nimport os\nos.environ['SESSION_ID'] = 'mine'\nsession_id = 'mine'\nprint(list(host.echo('x')['stdin'].values()))"
        answer = server.post(f"/v1/sessions/{session}/execute", {"code": code}).json
        assert "course-7" in answer["stdout"] and "mine" not in answer["stdout"], answer
    finally:
        assert server.stop() == 0, server.said


def test_a_function_ends_with_its_program(who, config, watch):
    answer = run(who, config, "host.slow()", "--timeout", "1")
    assert answer.status in ("timeout", "error"), answer


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[functions.x]\ndescription = 'd'\n", "a `command`"),
        ("[functions.x]\ndescription = 'd'\nrequest = 'GET ftp://a/'\n", "METHOD URL"),
        ("[functions.x]\ndescription = 'd'\nrequest = 'GET http://{a}/'\n", "METHOD URL"),
        ("[functions.x]\ndescription = 'd'\nrequest = 'GET http://a/{b}'\n", "only parameters"),
        ("[functions.x]\ndescription = 'd'\nrequest = 'GET http://a/'\ncommand = ['/bin/echo']\n", "a `command` or a `request`"),
        ("[functions.x]\ncommand = ['/bin/echo']\n", "a `description`"),
        ("[functions.x]\ndescription = 'd'\ncommand = ['echo']\n", "absolute path"),
        ("[functions.x]\ndescription = 'd'\ncommand = ['/bin/echo', '{y}']\n", "only parameters"),
        ("[functions.x]\ndescription = 'd'\ncommand = ['/bin/echo']\nparameters = {a = {}}\n", "no `type`"),
        ("[functions.x]\ndescription = 'd'\ncommand = ['/bin/echo']\nparameters = {a = {type = 'string', pattern = 'x'}}\n", "is not supported"),
        ("[functions.x]\ndescription = 'd'\ncommand = ['/bin/echo']\nseverty = 'low'\n", "severity"),
        ("[functions.x]\ndescription = 'd'\ncommand = ['/bin/echo']\nseverity = 'huge'\n", "read_only, low"),
        ("[functions.X]\ndescription = 'd'\ncommand = ['/bin/echo']\n", "lower-case"),
        ("[servers.host]\ncommand = '/bin/cat'\n", "other than host"),
    ],
)
def test_a_mistake_in_the_file_is_said_with_its_line(who, text, said):
    answer = who.call("run", "--config", who.file("wrong.toml", text), "-c", "print('it-ran')")
    assert answer.code == 64 and said in answer.errors and "it-ran" not in answer.text, answer
