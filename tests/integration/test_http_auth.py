"""Authentication: tokens, their rights, and that no token sees another's data."""
import json
import os
import re
import stat
import time

import belljar
import pytest

from serving import Server, UnixConnection, wait_until


def private_env(who):
    """Tokens of a test are its own."""
    place = who.home / "state" / f"auth-{time.monotonic_ns()}"
    runtime = who.home / "runtime" / place.name
    for path in (place, runtime):
        path.mkdir(mode=0o700)
        who.own(path)
    return {"XDG_STATE_HOME": str(place), "XDG_RUNTIME_DIR": str(runtime)}


class Tokens:
    """A server with tokens of its own."""

    def __init__(self, who, *args, env=None, **popen):
        self.who = who
        self.env = {**private_env(who), **(env or {})}
        self.server = Server(who, *args, env=self.env, **popen)

    def add(self, name, *args):
        answer = self.who.call("token", "add", name, *args, env=self.env)
        assert answer.code == 0, answer
        return answer.text.strip()

    def rm(self, name):
        answer = self.who.call("token", "rm", name, env=self.env)
        assert answer.code == 0, answer

    def call(self, token, method, path, body=None, headers=None, **more):
        headers = {"Authorization": f"Bearer {token}" if token else None, **(headers or {})}
        return self.server.call(method, path, body, headers, **more)

    def run(self, token, code, **fields):
        return self.call(token, "POST", "/v1/run", {"code": code, **fields})


@pytest.fixture(scope="module", params=["root", "user"])
def tokens(request, callers):
    if request.param not in callers:
        pytest.skip("needs root, to act as root and as another user")
    t = Tokens(callers[request.param])
    yield t
    assert t.server.stop() == 0, t.server.said


@pytest.fixture
def name():
    return f"t{time.monotonic_ns()}"


# --- the command ---


def test_a_token_is_shown_once_and_kept_as_a_hash(user):
    env = private_env(user)
    added = user.call("token", "add", "ci", "--profile", "strict,cms", "--max-timeout-s", "2.5", "--operator", env=env)
    token = added.text.strip()
    assert re.fullmatch(r"bj_[0-9a-f]{64}", token) and added.code == 0, added
    path = os.path.join(env["XDG_STATE_HOME"], "belljar", "tokens.toml")
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert token[3:] not in open(path, encoding="utf-8").read()
    listed = user.call("token", "list", "--json", env=env)
    assert token[3:] not in listed.text
    only = listed.json[0]
    assert (only["name"], only["profiles"], only["max_timeout_s"], only["operator"], only["max_runs"]) == (
        "ci", ["strict", "cms"], 2.5, True, None)  # fmt: skip
    assert "ci" in user.call("token", "list", env=env).text
    assert user.call("token", "rm", "ci", env=env).code == 0
    again = user.call("token", "add", "ci", "--json", env=env).json
    assert again["name"] == "ci" and re.fullmatch(r"bj_[0-9a-f]{64}", again["token"]), again
    assert user.call("token", "rm", "ci", env=env).code == 0
    assert user.call("token", "list", "--json", env=env).json == []
    listed = user.call("token", "list", env=env)
    assert ("no tokens; `belljar token add NAME`" in listed.errors) == (not listed.text), listed


@pytest.mark.parametrize(
    "words, message",
    [
        ([], "`belljar token` needs an action"),
        (["ad"], "unknown action `ad`"),
        (["add"], "takes one name"),
        (["add", "a", "b"], "takes one name"),
        (["add", "a b"], "`a b` is not a name for a token"),
        (["add", "../x"], "`../x` is not a name for a token"),
        (["add", "x", "--profile", "strict,nosuch"], "there is no profile `nosuch`"),
        (["add", "default"], "`default` is reserved for the first token of the server"),
        (["add", "x", "--max-runs", "0"], "`max_runs`: expected a whole number from 1 to 4096"),
        (["add", "x", "--max-runs", "many"], "`max_runs`: expected a whole number from 1 to 4096"),
        (["add", "x", "--profile", ""], "`` is not the name of a profile"),
        (["add", "x", "--profile", "../../etc/x"], "is not the name of a profile"),
        (["add", "x", "--max-rums", "1"], "unknown option `--max-rums`"),
        (["rm"], "takes the names of tokens"),
        (["rm", "nobody"], "there is no token `nobody`"),
        (["list", "x"], "takes no argument `x`"),
    ],
)
def test_mistakes_are_told_and_change_nothing(user, words, message):
    env = private_env(user)
    answer = user.call("token", *words, env=env)
    assert answer.code in (64, 66) and message in answer.errors, answer
    assert not os.path.exists(os.path.join(env["XDG_STATE_HOME"], "belljar", "tokens.toml"))


# --- who is known ---


def test_a_token_counts_from_the_moment_it_is_there_until_it_is_not(tokens, name):
    token = tokens.add(name)
    assert tokens.run(token, "print(6 * 7)").json["stdout"] == "42\n"
    tokens.rm(name)
    reply = tokens.run(token, "print(1)")
    assert (reply.status, reply.error["code"]) == (401, "auth")
    assert reply.headers["www-authenticate"].startswith("Bearer")
    assert tokens.run(tokens.server.token, "print(1)").status == 200


def test_wrong_tokens_are_all_answered_alike(tokens, name):
    token = tokens.add(name)
    wrong = [token[:-1], token + "0", token[:-1] + ("0" if token[-1] != "0" else "1"), token.upper(), "bj_", "x" * 67, "x" * 4000]
    answers = {(r.status, r.body) for r in (tokens.run(w, "print(1)") for w in wrong)}
    assert len(answers) == 1 and answers.pop()[0] == 401


def test_a_token_in_the_url_is_not_taken(tokens, name):
    token = tokens.add(name)
    reply = tokens.call(None, "POST", f"/v1/run?token={token}", {"code": "1"})
    assert reply.status == 401 and token.encode() not in reply.body
    reply = tokens.call(None, "POST", f"/v1/run?access_token={token}", {"code": "1"})
    assert reply.status == 401 and token.encode() not in reply.body


def test_over_the_socket_a_token_that_is_shown_counts(tokens, name):
    token = tokens.add(name, "--profile", "strict")
    connection = UnixConnection(tokens.server.socket, 60)
    reply = tokens.call(token, "POST", "/v1/run", {"code": "1", "profile": "open"}, connection=connection)
    assert reply.status == 403, reply
    reply = tokens.call("bj_" + "0" * 64, "POST", "/v1/run", {"code": "1"}, connection=UnixConnection(tokens.server.socket, 60))
    assert reply.status == 401, reply


def test_a_broken_file_knows_nobody_and_keeps_the_first(tokens, name):
    token = tokens.add(name)
    path = os.path.join(tokens.env["XDG_STATE_HOME"], "belljar", "tokens.toml")
    whole = open(path, encoding="utf-8").read()
    with open(path, "a", encoding="utf-8") as file:
        file.write("nonsense\n")
    assert tokens.run(token, "1").status == 401
    assert tokens.run(tokens.server.token, "1").status == 200
    with open(path, "w", encoding="utf-8") as file:
        file.write(whole)
    assert tokens.run(token, "1").status == 200
    os.chmod(path, 0o644)
    assert tokens.run(token, "1").status == 401
    os.chmod(path, 0o600)
    assert tokens.run(token, "1").status == 200
    tokens.rm(name)


def test_while_the_file_is_broken_nothing_that_its_tokens_gave_lets_anybody_in(tokens, name):
    """Pages, codes, sandboxes with tokens of their own, and jobs that wait."""
    token = tokens.add(name)
    key = {"X-API-KEY": "e2b_" + token.removeprefix("bj_"), "Authorization": None}
    made = tokens.call(None, "POST", "/e2b/v2/sandboxes", {"templateID": "base", "timeout": 60}, headers=key).json
    envd = {"Authorization": None, "E2b-Sandbox-Id": made["sandboxID"], "E2b-Sandbox-Port": "49983", "X-Access-Token": made["envdAccessToken"]}
    codes = [tokens.call(token, "POST", "/v1/console/codes", {}).json["code"] for _ in range(2)]
    page = tokens.call(None, "POST", "/v1/console/token", {"code": codes[0]}).json["token"]
    job = tokens.call(token, "POST", "/v1/jobs", {"code": "1", "delay_s": 1}).json["id"]

    def tries():
        return [
            tokens.call(page, "GET", "/v1/me").status,
            tokens.call(None, "POST", "/e2b/filesystem.Filesystem/ListDir", {"path": "/home/user"}, headers=envd).status,
            tokens.call(None, "POST", "/v1/console/token", {"code": codes[1]}).status,
        ]

    path = os.path.join(tokens.env["XDG_STATE_HOME"], "belljar", "tokens.toml")
    whole = open(path, encoding="utf-8").read()
    with open(path, "a", encoding="utf-8") as file:
        file.write("nonsense\n")
    assert tries() == [401, 502, 401]
    other = tokens.call(tokens.server.token, "POST", "/v1/jobs", {"code": "1", "delay_s": 1.5}).json["id"]
    wait_until(lambda: tokens.call(tokens.server.token, "GET", f"/v1/jobs/{other}").json["state"] == "done", "the first token's job is done")
    with open(path, "w", encoding="utf-8") as file:
        file.write(whole)
    assert tries() == [200, 200, 200]
    shown = tokens.call(token, "GET", f"/v1/jobs/{job}?wait_s=30").json
    begun, ended = shown["history"][0]["started_at"], tokens.call(tokens.server.token, "GET", f"/v1/jobs/{other}").json["ended_at"]
    assert shown["state"] == "done" and begun > ended, (shown, ended)
    tokens.rm(name)


def test_a_server_does_not_start_with_a_broken_file(user):
    env = private_env(user)
    assert user.call("token", "add", "x", env=env).code == 0
    path = os.path.join(env["XDG_STATE_HOME"], "belljar", "tokens.toml")
    with open(path, "a", encoding="utf-8") as file:
        file.write("max_rums = 1\n")
    answer = user.call("serve", "--listen", "127.0.0.1:0", env=env)
    assert answer.code == 64 and "unknown key `max_rums`" in answer.errors and path in answer.errors, answer


# --- what each may do ---


def test_a_profile_that_is_not_the_tokens_is_refused(tokens, name):
    token = tokens.add(name, "--profile", "strict")
    reply = tokens.run(token, "1", profile="open")
    assert (reply.status, reply.error["code"]) == (403, "denied")
    assert reply.error["message"] == "this token may not use the profile `open`"
    assert tokens.run(token, "1", profile="strict").status == 200
    # None was asked for: not the server's, which it may not have, but its own.
    assert tokens.run(token, "import os; os.system('true')").json["status"] == "refused"
    reply = tokens.call(token, "POST", "/v1/sessions", {"profile": "open"})
    assert reply.status == 403, reply
    reply = tokens.call(token, "POST", "/run", {"code": "print(1)"})
    assert reply.status == 403, reply  # PyRunner's profile is another one


def test_limits_have_the_tokens_ceilings(tokens, name):
    token = tokens.add(
        name, "--max-timeout-s", "7", "--max-memory-mb", "128", "--max-cpus", "0.5", "--max-pids", "20",
        "--max-disk-mb", "16", "--max-output-bytes", "1000",
    )  # fmt: skip
    for field, value, most in [
        ("timeout_s", 8, "7"), ("memory_mb", 256, "128"), ("cpus", 1, "0.5"), ("cpus", 0, "0.5"),
        ("pids", 21, "20"), ("disk_mb", 17, "16"), ("output_bytes", 1001, "1000"),
    ]:  # fmt: skip
        reply = tokens.run(token, "1", **{field: value})
        assert reply.status == 400, (field, reply)
        assert reply.error["message"] == f"`{field}`: this token allows at most {most}"
    # Defaults above them are lowered.
    reply = tokens.call(token, "POST", "/v1/sessions", {})
    assert reply.status == 201, reply
    limits = reply.json["limits"]
    assert (limits["timeout_s"], limits["memory_mb"], limits["cpus"], limits["pids"], limits["disk_mb"], limits["output_bytes"]) == (
        7, 128, 0.5, 20, 16, 1000)  # fmt: skip
    session = reply.json["session_id"]
    reply = tokens.call(token, "POST", f"/v1/sessions/{session}/execute", {"code": "1", "timeout_s": 8})
    assert reply.status == 400, reply
    assert tokens.call(token, "DELETE", f"/v1/sessions/{session}").status == 204
    assert tokens.run(token, "print('x' * 5000)").json["stdout"].count("x") == 999  # and a newline
    # Clients of other interfaces that ask for nothing get what there is.
    assert tokens.call(token, "POST", "/run", {"code": "print(1)"}).json["stdout"] == "1\n"
    assert tokens.call(token, "POST", "/run", {"code": "print(1)", "timeout": 8}).status == 422


def test_sessions_are_counted_per_token(tokens, name):
    token = tokens.add(name, "--max-sessions", "1")
    none = tokens.add(name + "x", "--max-sessions", "0")
    first = tokens.call(token, "POST", "/v1/sessions", {})
    assert first.status == 201
    reply = tokens.call(token, "POST", "/v1/sessions", {})
    assert (reply.status, reply.error["code"]) == (429, "busy") and "retry-after" in reply.headers
    assert tokens.call(none, "POST", "/v1/sessions", {}).status == 429
    assert tokens.call(token, "POST", f"/v1/sessions/{first.json['session_id']}/fork", {"n": 1}).status == 429
    tokens.call(token, "DELETE", f"/v1/sessions/{first.json['session_id']}")


# --- nobody sees another's ---


def test_what_is_anothers_and_what_is_not_there_are_answered_alike(tokens, name):
    ann, bob = tokens.add(name + "a"), tokens.add(name + "b")
    session = tokens.call(ann, "POST", "/v1/sessions", {"name": "mine"}).json["session_id"]
    run = tokens.run(ann, "print(1)").json["id"]
    command = tokens.call(ann, "POST", f"/v1/sessions/{session}/commands", {"command": "sleep 100", "background": True}).json["id"]
    absent_session = "ses_" + "0" * 26
    absent_run = "run_" + "0" * 26
    pairs = [
        ("GET", "/v1/sessions/{}", None), ("DELETE", "/v1/sessions/{}", None),
        ("POST", "/v1/sessions/{}/execute", {"code": "1"}), ("POST", "/v1/sessions/{}/interrupt", {}),
        ("POST", "/v1/sessions/{}/restart", {}), ("POST", "/v1/sessions/{}/commands", {"command": "true"}),
        ("GET", "/v1/sessions/{}/commands", None), ("GET", f"/v1/sessions/{{}}/commands/{command}", None),
        ("DELETE", f"/v1/sessions/{{}}/commands/{command}", None),
        ("POST", f"/v1/sessions/{{}}/commands/{command}/stdin", {"text": "x"}),
        ("POST", f"/v1/sessions/{{}}/commands/{command}/signal", {"signal": "KILL"}),
    ]  # fmt: skip
    for method, path, body in pairs:
        replies = [tokens.call(bob, method, path.format(x), body) for x in (session, "mine", absent_session)]
        assert {r.status for r in replies} == {404}, (path, replies)
        assert len({r.body for r in replies}) == 1, (path, replies)
    for path in ("/v1/runs/{}", "/v1/runs/{}/events"):
        replies = [tokens.call(bob, "GET", path.format(x)) for x in (run, absent_run)]
        assert [r.status for r in replies] == [404, 404] and replies[0].body == replies[1].body
    assert tokens.call(bob, "GET", "/v1/sessions").json["sessions"] == []
    # By way of a session of one's own.
    own = tokens.call(bob, "POST", "/v1/sessions", {}).json["session_id"]
    assert tokens.call(bob, "DELETE", f"/v1/sessions/{own}/commands/{command}").status == 404
    assert tokens.call(ann, "GET", f"/v1/sessions/{session}/commands/{command}").json["status"] == "running"
    # The operator's own token is no key to it either.
    assert tokens.call(tokens.server.token, "GET", f"/v1/sessions/{session}").status == 404
    # The name is free for another.
    assert tokens.call(bob, "POST", "/v1/sessions", {"name": "mine"}).status == 201
    assert tokens.call(ann, "GET", f"/v1/runs/{run}").json["stdout"] == "1\n"
    tokens.rm(name + "a")
    tokens.rm(name + "b")


def test_what_a_removed_token_had_is_gone(tokens, name):
    token = tokens.add(name)
    session = tokens.call(token, "POST", "/v1/sessions", {"name": "mine"}).json["session_id"]
    run = tokens.run(token, "print('private')").json["id"]
    tokens.rm(name)
    assert tokens.call(token, "GET", f"/v1/sessions/{session}").status == 401
    again = tokens.add(name)
    assert again != token
    assert tokens.call(again, "GET", f"/v1/runs/{run}").status == 404
    assert tokens.call(again, "GET", f"/v1/sessions/{session}").status == 404
    assert tokens.call(again, "GET", "/v1/sessions").json["sessions"] == []


@pytest.mark.parametrize("kind", ["json", "large", "upload"])
def test_a_request_that_began_under_a_removed_token_is_not_its_successors(tokens, name, kind):
    """Its body ends when another token of the same name is there."""
    old = tokens.add(name)
    assert tokens.call(old, "POST", "/v1/sessions", {"name": "desk"}).status == 201
    assert tokens.call(old, "POST", "/v1/sessions/desk/execute", {"code": "1"}).status == 200  # it has started
    comment = "#" * 300_000 if kind == "large" else ""
    body = b"x" * 100 if kind == "upload" else json.dumps({"code": "print(secret)" + comment}).encode()
    method, path = ("PUT", "files/f") if kind == "upload" else ("POST", "execute")
    connection = UnixConnection(tokens.server.socket, belljar.HANG_SECONDS)
    connection.putrequest(method, f"/v1/sessions/desk/{path}")
    for header in (("Authorization", f"Bearer {old}"), ("Content-Type", "application/octet-stream" if kind == "upload" else "application/json"), ("Content-Length", str(len(body)))):
        connection.putheader(*header)
    connection.endheaders()
    connection.send(body[:5])
    assert tokens.call(old, "GET", "/v1/sessions/desk").status == 200
    tokens.rm(name)
    new = tokens.add(name)
    assert tokens.call(new, "POST", "/v1/sessions", {"name": "desk"}).status == 201
    assert tokens.call(new, "POST", "/v1/sessions/desk/execute", {"code": "secret = 'of the new one'"}).status == 200
    connection.send(body[5:])
    reply = connection.getresponse()
    said = reply.read()
    if kind == "upload" and reply.status == 404:  # its session ended before the last piece
        assert b"has ended" in said, said
    else:
        assert reply.status == 401 and b"the token was removed" in said, said
    connection.close()
    assert tokens.call(new, "GET", "/v1/sessions/desk/files/f").status == 404
    tokens.rm(name)


def test_tokens_are_never_said(tokens, name):
    token = tokens.add(name)
    tokens.run(token, "print(1)")
    tokens.run(token[:-1] + "x", "print(1)")
    assert token not in "\n".join(tokens.server.said)
    assert json.dumps(tokens.call(token, "GET", "/openapi.json").json).find(token) < 0


# --- limits of a token, over HTTP ---


def test_a_token_can_use_the_whole_of_its_disk(tokens, name):
    token = tokens.add(name, "--max-disk-mb", "8192")
    answer = tokens.run(token, "print(1)", disk_mb=8192)
    assert (answer.status, answer.json["stdout"]) == (200, "1\n"), answer
    answer = tokens.run(token, "print(1)", disk_mb=8193)
    assert answer.status == 400 and "this token allows at most 8192" in answer.json["error"]["message"], answer


def test_a_tiny_share_of_the_processor_is_not_all_of_it(tokens, name):
    token = tokens.add(name, "--max-cpus", "0.5", "--max-cpu-time-s", "2")
    opened = tokens.call(token, "POST", "/v1/sessions", {"cpus": 0.001})
    assert (opened.status, opened.json["limits"]["cpus"], opened.json["limits"]["cpu_time_s"]) == (201, 0.01, 2), opened
    answer = tokens.run(token, "1", cpu_time_s=0)
    assert answer.status == 400 and "this token allows at most 2" in answer.json["error"]["message"], answer
