"""Cells and figures of E2B's interface: tables, charts, variables of one cell, and what a sandbox uses."""
import time

import pytest
from e2b_client import INTERPRETER, control, made


@pytest.fixture(scope="module")
def sandbox(server):
    with made(server, timeout=300) as s:
        yield s


def results(lines):
    return [line for line in lines if line["type"] == "result"]


def test_a_table_has_its_values(sandbox):
    code = """
import pandas as pd
pd.DataFrame({"n": [1, 2], "x": [0.5, None], "s": ["a", 'b, "c"'], "on": [True, False], "at": pd.to_datetime(["2026-01-02", "2026-01-02 03:04:05"])})
"""
    (line,) = results(sandbox.execute(code))
    assert line["is_main_result"] and "html" in line and "text" in line
    assert line["data"] == {
        "n": [1, 2], "x": [0.5, None], "s": ["a", 'b, "c"'], "on": [True, False], "at": ["2026-01-02T00:00:00", "2026-01-02T03:04:05"],
    }  # fmt: skip
    (line,) = results(sandbox.execute("pd.DataFrame({'a': [1, 2, 3]}, index=['x', 'y', 'z'])"))
    assert line["data"] == {"a": [1, 2, 3]}
    (line,) = results(sandbox.execute("pd.DataFrame({('a', 'b'): [1]})"))
    assert "data" not in line
    (line,) = results(sandbox.execute("pd.Series([1, 2])"))
    assert "data" not in line


def test_a_table_that_lies_has_no_values(sandbox):
    code = """
about = {"shape": [1, 2], "columns": [{"name": "a", "dtype": "int64"}, {"name": "b", "dtype": []}]}
display({"text/plain": "t", "text/csv": "a,b\\n1,2,3\\n", "application/vnd.belljar.table+json": about}, raw=True)
display({"text/plain": "t", "text/csv": "a,b\\n" + "1,2\\n" * 100000, "application/vnd.belljar.table+json": about}, raw=True)
display({"text/plain": "t", "text/csv": "a,b\\n1,2\\n", "application/vnd.belljar.table+json": about}, raw=True)
"""
    lines = results(sandbox.execute(code))
    assert [line.get("data") for line in lines] == [None, None, {"a": [1], "b": ["2"]}], lines


@pytest.mark.parametrize(
    "draw, chart",
    [
        ("plt.plot([1, 2], [10, 100], label='up'); plt.yscale('log'); plt.xlabel('time (s)')",
         {"type": "line", "elements": [{"label": "up", "points": [[1, 10], [2, 100]]}], "x_unit": "s", "x_scale": "linear", "y_scale": "log"}),
        ("plt.scatter(['a', 'b'], [1, 2])", {"type": "scatter", "x_ticks": [0, 1], "x_tick_labels": ["a", "b"], "x_scale": "categorical"}),
        ("import datetime as d; plt.plot([d.date(2026, 1, 1), d.date(2026, 1, 2)], [1, 2])", {"type": "line", "x_scale": "datetime"}),
        ("plt.bar(['a', 'b'], [3, 4])", {"type": "bar", "elements": [{"label": "a", "group": "Group 0", "value": 3}, {"label": "b", "group": "Group 0", "value": 4}]}),
        ("plt.pie([1, 3], labels=['a', 'b'])", {"type": "pie", "elements": [{"label": "a", "angle": 90, "radius": 1}, {"label": "b", "angle": 270, "radius": 1}]}),
        ("plt.bar([2025, 2026.5], [3, 4])", {"type": "bar", "elements": [{"label": "2025", "group": "Group 0", "value": 3}, {"label": "2026.5", "group": "Group 0", "value": 4}]}),
        ("plt.boxplot([[1, 2, 3, 4, 100]])", {"type": "box_and_whisker"}),
        ("plt.imshow([[1, 2], [3, 4]])", {}),
    ],
)  # fmt: skip
def test_charts(sandbox, draw, chart):
    (line,) = results(sandbox.execute(f"import matplotlib.pyplot as plt\n{draw}\nplt.title('T')\nplt.show()"))
    assert line["png"]
    if not chart:
        assert "chart" not in line or line["chart"]["type"] == "unknown"
        return
    assert line["chart"]["title"] == "T"
    for name, value in chart.items():
        assert line["chart"][name] == value, (name, line["chart"])
    if chart["type"] in ("line", "scatter"):
        assert len(line["chart"]["x_ticks"]) == len(line["chart"]["x_tick_labels"]) > 0
        assert {"y_ticks", "y_tick_labels", "y_scale", "y_label", "y_unit"} <= set(line["chart"])
    if chart.get("x_scale") == "datetime":
        assert all(tick.startswith("202") for tick in line["chart"]["x_ticks"]), line["chart"]
    if chart["type"] == "box_and_whisker":
        (box,) = line["chart"]["elements"]
        assert {"label", "min", "first_quartile", "median", "third_quartile", "max", "outliers"} == set(box) and box["outliers"] == [100], box


def test_several_axes_are_a_superchart(sandbox):
    code = "import matplotlib.pyplot as plt\nfigure, (a, b) = plt.subplots(1, 2)\na.plot([1, 2])\nb.bar(['x'], [1])\nb.set_title('B')\nfigure.suptitle('both')\nplt.show()"
    (line,) = results(sandbox.execute(code))
    assert line["chart"]["type"] == "superchart" and [c["type"] for c in line["chart"]["elements"]] == ["line", "bar"]
    assert [line["chart"]["title"], *(c["title"] for c in line["chart"]["elements"])] == ["both", None, "B"]


def test_a_title_above_the_only_axes_is_theirs(sandbox):
    (line,) = results(sandbox.execute("import matplotlib.pyplot as plt\nfigure, axes = plt.subplots()\naxes.plot([1, 2])\nfigure.suptitle('above')\nplt.show()"))
    assert (line["chart"]["type"], line["chart"]["title"]) == ("line", "above")


def test_an_exit_is_called_as_in_a_notebook(sandbox):
    (error,) = [line for line in sandbox.execute("import sys\nsys.exit(3)") if line["type"] == "error"]
    assert (error["name"], error["value"]) == ("SystemExit", "3")


def test_a_failure_that_the_sandbox_explains_has_a_hint_on_stderr(sandbox):
    lines = sandbox.execute("import urllib.request\nurllib.request.urlopen('http://example.org', timeout=5)")
    kinds = [line["type"] for line in lines]
    (hint,) = [line["text"] for line in lines if line["type"] == "stderr"]
    assert hint == "hint: no host is granted to this sandbox; `--net HOST` grants one\n"
    assert kinds.index("stderr") < kinds.index("error") and "hint:" not in lines[kinds.index("error")]["traceback"]
    plain = sandbox.execute("1 / 0")
    assert not [line for line in plain if line["type"] == "stderr"]


ODD = {"OLD": "p'\"ü\n$x", "NEW": "n"}


@pytest.mark.parametrize(
    "language, before, show, after",
    [
        ("python", "import os; os.environ['OLD'] = 'o'", "print(os.environ['OLD'] + os.environ['NEW'], end='')", "print(os.environ['OLD'], os.environ.get('NEW'))"),
        ("javascript", "process.env.OLD = 'o'", "void process.stdout.write(process.env.OLD + process.env.NEW)", "console.log(process.env.OLD, process.env.NEW ?? 'None')"),
        ("bash", "export OLD=o", "printf %s \"$OLD\" \"$NEW\"; bash -c 'test \"$NEW\" = n'", "echo $OLD ${NEW-None}"),
    ],
)  # fmt: skip
def test_variables_of_one_cell(sandbox, language, before, show, after):
    made = sandbox.call("POST", "/contexts", {"language": language}, port=INTERPRETER)
    assert made.status == 200, made

    def said(code, where, **fields):
        lines = sandbox.execute(code, **where, **fields)
        assert not [line for line in lines if line["type"] == "error"], lines
        return "".join(line["text"] for line in lines if line["type"] in ("stdout", "result"))

    for where in ({"language": language}, {"context_id": made.json["id"]}):
        said(before, where)
        assert said(show, where, env_vars=ODD) == ODD["OLD"] + "n", (language, where)
        assert said(after, where).split() == ["o", "None"], (language, where)
        assert said(after, where, env_vars={}).split() == ["o", "None"]
    # The values come back after an error, too.
    sandbox.execute({"python": "1/0", "javascript": "throw 1", "bash": "false"}[language], language=language, env_vars={"OLD": "z"})
    assert said(after, {"language": language}).split() == ["o", "None"]
    assert sandbox.call("DELETE", f"/contexts/{made.json['id']}", port=INTERPRETER).status == 200


def test_variables_that_cannot_be_set_are_refused(sandbox):
    for language, env in [("bash", {"a;b": "x"}), ("bash", {"1a": "x"}), ("python", {"": "x"}), ("python", {"a=b": "x"}), ("python", {"a": 1}), ("python", ["a"])]:
        reply = sandbox.call("POST", "/execute", {"code": "1", "language": language, "env_vars": env}, port=INTERPRETER)
        assert reply.status == 400 and b"env_vars" in reply.body, (language, env, reply)


def test_metrics_are_real(server):
    with made(server) as s:
        def metrics(query=""):
            reply = control(server, "GET", f"/sandboxes/{s.id}/metrics{query}")
            assert reply.status == 200, reply
            return reply.json
        (first,) = metrics()
        assert {"timestamp", "timestampUnix", "cpuCount", "cpuUsedPct", "memUsed", "memTotal", "memCache", "diskUsed", "diskTotal"} == set(first)
        assert abs(first["timestampUnix"] - time.time()) < 60 and first["timestamp"].endswith("Z")
        info = control(server, "GET", f"/sandboxes/{s.id}").json
        assert first["memTotal"] == info["memoryMB"] << 20 and first["diskTotal"] == info["diskSizeMB"] << 20
        s.run("head -c 30000000 /dev/zero > zeros")
        s.execute("kept = bytearray(b'x') * 40_000_000")
        last = metrics()[-1]
        assert last["diskUsed"] - first["diskUsed"] > 29_000_000 and last["memUsed"] - first["memUsed"] > 60_000_000, (first, last)
        assert 0 <= last["cpuUsedPct"] <= 100 and last["memUsed"] < last["memTotal"]
        s.execute("import time\nend = time.time() + 1.2\nwhile time.time() < end: pass")
        busy = metrics()
        assert len(busy) >= 2 and busy[-1]["cpuUsedPct"] > 1, busy
        assert metrics(f"?end={first['timestampUnix'] - 10}") == [] and metrics(f"?start={int(time.time()) + 100}") == []
        assert len(metrics(f"?start={first['timestampUnix'] - 1}&end={int(time.time()) + 100}")) >= 2
        assert control(server, "GET", f"/sandboxes/{s.id}/metrics?start=x").status == 400
    assert control(server, "GET", f"/sandboxes/{s.id}/metrics").json["code"] == 404


def test_packages_that_the_cell_itself_installs_are_found(server):
    place = "$HOME/.local/lib/python$(python3 -c 'import sys; print(\"%d.%d\" % sys.version_info[:2])')/site-packages"
    with made(server) as s:
        assert s.execute("import newcomer")[-1]["name"] == "ModuleNotFoundError"
        install = f"!mkdir -p {place} && echo 'here = 1' > {place}/newcomer.py && echo 'import sys; sys.pth_was_read = 1' > {place}/n.pth"
        lines = s.execute(f"{install}\nimport newcomer, sys\n[newcomer.here, sys.pth_was_read]")
        assert lines[-1].get("json") == [1, 1], lines
        where = "import sys\n[i for i, p in enumerate(sys.path) if '.local' in p] < [i for i, p in enumerate(sys.path) if 'dist-packages' in p]"
        assert s.execute(where)[-1]["text"] == "True"
        s.execute("sys.path = [p for p in sys.path if '.local' not in p]")
        assert s.execute("any('.local' in p for p in sys.path)")[-1]["text"] == "False"  # taken out, it stays out
    with made(server) as s:  # a command installs, a later cell imports
        s.execute("1")
        s.run(f"mkdir -p {place} && echo 'here = 2' > {place}/newcomer.py")
        assert s.execute("import newcomer; newcomer.here")[-1]["text"] == "2"
