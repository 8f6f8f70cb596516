"""Code as people write it in notebooks runs in a session as it does outside, cell by cell: tests/notebooks."""
import base64
import json
import pathlib
import re
import struct
import subprocess

import pytest

from serving import Server

PYTHON = "/usr/bin/python3"
NOTEBOOKS = pathlib.Path(__file__).parent.parent / "notebooks"
BOOKS = [path.name for path in sorted(NOTEBOOKS.glob("*.py")) if path.name != "plain.py"]
PLOTS = [path.name for path in sorted((NOTEBOOKS / "plots").glob("*.py"))]
PICTURES = "application/vnd.belljar.chart+json"

# The first import of everything, on a machine that does other things.
TIMEOUT_S = 120


@pytest.fixture(scope="module")
def server(callers):
    s = Server(callers["user"])
    yield s
    assert s.stop() == 0, s.said


@pytest.fixture
def session(server):
    with server.session() as name:
        yield name


def execute(server, session, code):
    return server.execute(session, code, timeout_s=TIMEOUT_S)


def cells(path):
    found = []
    for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
        if line.startswith("# %%"):
            found.append("")
        found[-1] += line
    return found


@pytest.mark.parametrize("name", BOOKS)
def test_a_notebook_says_what_plain_python_says(server, session, name, tmp_path):
    plain = subprocess.run(
        [PYTHON, NOTEBOOKS / "plain.py", NOTEBOOKS / name, tmp_path], capture_output=True, text=True, check=True
    )
    expected, sources = json.loads(plain.stdout), cells(NOTEBOOKS / name)
    assert len(expected) == len(sources) > 5
    for source, wanted in zip(sources, expected):
        done = execute(server, session, source)
        assert done["status"] == "success" and done["session_state"] == "kept" and not done["stderr"], (source, done)
        assert done["stdout"] == wanted["stdout"], source
        assert (done["result"] or {"text": None})["text"] == wanted["value"], source


@pytest.mark.parametrize("name", PLOTS)
def test_a_script_of_plots_gives_its_pictures(server, session, name):
    source = (NOTEBOOKS / "plots" / name).read_text(encoding="utf-8")
    figures = int(re.search(r"^# figures: (\d+)", source)[1])
    kinds = re.search(r"^# figures: \d+  charts: (.*)$", source, re.MULTILINE)
    done = execute(server, session, source)
    assert done["status"] == "success" and not done["stderr"], done
    pictures = [entry for entry in done["displays"] if entry["mime"] == "image/png"]
    assert len(pictures) == figures, done["displays"]
    for entry in pictures:
        data = base64.b64decode(entry["data"], validate=True)
        width, height = struct.unpack_from(">II", data, 16)
        assert data.startswith(b"\x89PNG") and (width, height) == (entry["width"], entry["height"]) and width > 100
    if kinds:
        charts = [entry["data"] for entry in done["displays"] if entry["mime"] == PICTURES]
        found = [chart["type"] for picture in charts for chart in picture]
        assert found == kinds[1].split(), charts
