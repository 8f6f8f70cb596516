"""Files that a session keeps open for writing from one cell to the next: what later cells write to them is recorded, too."""
import secrets

import pytest

from serving import Server, wait_until

MB = 1 << 20


@pytest.fixture
def folder(who):
    path = who.directory("held-" + secrets.token_hex(4))
    for name in ("a", "b"):
        (path / name).write_text(f"old {name}\n")
        who.own(path / name)
    return path


class Session:
    def __init__(self, server, folder, identity=None):
        self.server, self.folder = server, folder
        self.id = identity or server.post("/v1/sessions", {"allow": [f"{folder}:rw"]}).json["session_id"]

    def cell(self, code):
        answer = self.server.post(f"/v1/sessions/{self.id}/execute", {"code": code})
        assert answer.json["status"] == "success", answer
        return answer.json

    def undo(self, run):
        answers = []
        wait_until(lambda: answers.append(self.server.post(f"/v1/runs/{run['id']}/undo", {})) or answers[-1].status != 429, "the journal to be closed")
        return answers[-1].json


@pytest.fixture
def session(who, folder):
    server = Server(who, "--socket", "none", env={"BELLJAR_PROFILE": "open", "BELLJAR_ALLOW": f"{folder}:rw"})
    yield Session(server, folder)
    assert server.stop() == 0, server.said


# How a file that was opened in the first cell is written in a later one.
WAYS = {
    "a descriptor": ("import os; fd = os.open('{f}', os.O_WRONLY | os.O_TRUNC); n = os.write(fd, b'one')", "n = os.write(fd, b'two')"),
    "a new file": ("import os; os.unlink('{f}'); fd = os.open('{f}', os.O_WRONLY | os.O_CREAT, 0o644); n = os.write(fd, b'one')", "n = os.write(fd, b'two')"),
    "a mapping": ("import mmap, os; fd = os.open('{f}', os.O_RDWR); n = os.write(fd, b'one'); n = os.ftruncate(fd, 3); m = mmap.mmap(fd, 3); os.close(fd)", "m[0:3] = b'two'; m.flush(); import os; os.truncate('{f}', 6); os.pwrite(os.open('{f}', os.O_WRONLY), b'onetwo', 0)"),
    "a renamed file": ("import os; fd = os.open('{f}', os.O_WRONLY | os.O_TRUNC); n = os.write(fd, b'one'); os.rename('{f}', '{f}2'); os.rename('{f}2', '{f}')", "n = os.write(fd, b'two')"),
    "cut by its descriptor": ("import os; fd = os.open('{f}', os.O_WRONLY | os.O_TRUNC); n = os.write(fd, b'one')", "os.ftruncate(fd, 0); n = os.pwrite(fd, b'onetwo', 0)"),
    "a process that was left": (
        "import subprocess, os; os.truncate('{f}', 0); p = subprocess.Popen(['sh', '-c', 'read x; printf two'], stdin=subprocess.PIPE, stdout=open('{f}', 'a')); n = os.write(os.open('{f}', os.O_WRONLY | os.O_APPEND), b'one')",
        "p.communicate(b'go\\n')",
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_a_later_cell_writes_is_taken_back(session, folder, way):
    first, second = (code.replace("{f}", f"{folder}/a") for code in WAYS[way])
    one = session.cell(first)
    session.cell("x = 1")  # a cell that does not touch it
    two = session.cell(second)
    assert (folder / "a").read_text() == "onetwo" and two["changes"]["changed"] == 1 and two["changes"]["undo"] is True, two
    early = session.undo(one)
    assert early["n_conflicts"] >= 1 and (folder / "a").read_text() == "onetwo", early
    undone = session.undo(two)
    assert undone["n_conflicts"] == 0 and (folder / "a").read_text() == "one", undone


def test_a_closed_file_is_not_of_later_cells(session, folder):
    session.cell(f"n = open('{folder}/a', 'w').write('one')")
    assert session.cell("x = 1")["changes"]["changed"] == 0


def test_a_large_file_is_told(session, folder):
    """More than is saved at the end of each cell: an undo reports it, and leaves it alone."""
    session.cell(f"import os; fd = os.open('{folder}/a', os.O_RDWR); n = os.write(fd, b'x' * {9 * MB})")
    idle = session.cell("x = 1")
    two = session.cell("n = os.pwrite(fd, b'two', 0)")
    undone = session.undo(two)
    assert undone["n_conflicts"] == 1 and "open since an earlier run" in undone["conflicts"][0]["reason"], undone
    assert (folder / "a").read_bytes()[:4] == b"twox"
    assert session.undo(idle)["n_conflicts"] == 1  # it was changed since


def test_a_copy_of_a_session_opens_its_files_again(session, folder):
    session.cell(f"f = open('{folder}/a', 'r+'); n = f.write('one'); f.flush()")
    before = (folder / "a").read_text()
    reply = session.server.post(f"/v1/sessions/{session.id}/fork", {})
    assert reply.status == 200, reply
    copy = Session(session.server, folder, reply.json["sessions"][0]["session_id"])
    copy.cell("n = f.write('two'); f.flush()")
    assert (folder / "a").read_text() == before, "a fork has its own view"
    for verb in ("checkpoint", "restore"):
        assert session.server.post(f"/v1/sessions/{session.id}/{verb}", {"name": "c"}).status == 200
    two = session.cell("n = f.write('two'); f.flush()")
    assert "two" in (folder / "a").read_text() and two["changes"]["changed"] == 1, two
    assert session.undo(two)["n_conflicts"] == 0 and (folder / "a").read_text() == before


def test_many_open_files(session, folder):
    session.cell(f"import os; fds = [os.open('{folder}/f%d' % i, os.O_WRONLY | os.O_CREAT, 0o644) for i in range(200)]")
    two = session.cell("n = [os.write(fd, b'two') for fd in fds]")
    assert two["changes"]["changed"] == 200, two
    assert session.undo(two)["n_conflicts"] == 0 and all((folder / f"f{i}").read_text() == "" for i in range(200))
