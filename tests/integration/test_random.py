"""Random bytes: no two runs, sessions, copies or children get the same."""
import pytest

DRAW = """import random, secrets, ssl, uuid
import numpy
print(secrets.token_hex(8), uuid.uuid4(), random.random(), numpy.random.rand(), ssl.RAND_bytes(8).hex())
"""


def drawn(results):
    """Each kind of number, as often as it was drawn."""
    rows = [r["stdout"].split() for r in results]
    assert all(len(row) == 5 for row in rows), results
    return [len(set(column)) for column in zip(*rows)]


def test_fresh_runs(server):
    assert drawn([server.run(DRAW, profile="open") for _ in range(4)]) == [4] * 5


def test_sessions_and_their_copies(server):
    def cell(session):
        return server.post(f"/v1/sessions/{session}/execute", {"code": DRAW}).json

    sessions = [server.post("/v1/sessions", {"profile": "open"}).json["session_id"] for _ in range(2)]
    results = [cell(s) for s in sessions]
    reply = server.post(f"/v1/sessions/{sessions[0]}/fork", {"n": 2})
    assert reply.status in (200, 201), reply
    copies = [c["session_id"] for c in reply.json["sessions"]]
    results += [cell(s) for s in [*copies, sessions[0]]]
    assert drawn(results) == [5] * 5
    for session in sessions + copies:
        server.call("DELETE", f"/v1/sessions/{session}")


@pytest.mark.parametrize("copied", [False, True])
def test_children_of_a_program(server, copied):
    """A child of a copy, too: its memory is not what it was in the source."""
    code = """import os
def draw():
    return os.getrandom(8).hex() + " " + os.urandom(8).hex()
first = draw()
if os.fork() == 0:
    os.write(1, (draw() + "\\n").encode())
    os._exit(0)
os.wait()
print(draw())
"""
    session = server.post("/v1/sessions", {"profile": "open"}).json["session_id"]
    server.post(f"/v1/sessions/{session}/execute", {"code": "import os; os.urandom(8)"})
    if copied:
        reply = server.post(f"/v1/sessions/{session}/fork", {"n": 1})
        server.call("DELETE", f"/v1/sessions/{session}")
        session = reply.json["sessions"][0]["session_id"]
    result = server.post(f"/v1/sessions/{session}/execute", {"code": code}).json
    words = result["stdout"].split()
    assert len(words) == 4 and len(set(words)) == 4, result
    server.call("DELETE", f"/v1/sessions/{session}")
